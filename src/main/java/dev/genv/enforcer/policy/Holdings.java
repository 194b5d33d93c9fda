package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.Snapshot;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Who holds which devices on one machine. Only devices that the GPU tool lists count. */
final class Holdings {
    private final Snapshot snapshot;
    private final Ending ending;
    private final Map<String, Environment> environments;
    private final Map<String, List<GpuProcess>> processes;

    Holdings(Snapshot snapshot, Ending ending) {
        this.snapshot = snapshot;
        this.ending = ending;
        this.environments = snapshot.environmentsById();
        this.processes = snapshot.processesByEnvironment();
    }

    /** Every user's holdings. */
    Map<String, List<Holding>> byUser() {
        var busy = busyDevices();
        var byUser = new TreeMap<String, List<Holding>>();
        for (var device : listed()) {
            sharesByUser(device)
                    .forEach((user, shares) -> byUser.computeIfAbsent(user, _ -> new ArrayList<>())
                            .add(new Holding(
                                    snapshot.host(),
                                    device.index(),
                                    shares,
                                    processesOf(shares, device.index()),
                                    !busy.getOrDefault(user, Set.of()).contains(device.index()))));
        }
        return byUser;
    }

    /** The environments that hold devices for nobody. */
    List<HostProblem> problems() {
        return listed().stream()
                .flatMap(device -> device.attachments().stream())
                .map(attachment -> environments.get(attachment.eid()))
                .filter(environment -> environment != null && environment.user().isEmpty())
                .distinct()
                .map(nobody -> new HostProblem(
                        snapshot.host(),
                        new Problem(
                                "user_unknown",
                                "Environment %s has neither a user name nor a uid other than 0: it counts in no quota"
                                        .formatted(Words.safe(nobody.eid())))))
                .toList();
    }

    private List<Device> listed() {
        return snapshot.devices().stream()
                .filter(device -> snapshot.listedDevices().contains(device.index()))
                .toList();
    }

    private SortedMap<String, List<Holding.Share>> sharesByUser(Device device) {
        var byUser = new TreeMap<String, List<Holding.Share>>();
        for (var attachment : device.attachments()) {
            var environment = environments.get(attachment.eid());
            if (environment != null) {
                environment
                        .user()
                        .filter(_ -> !environment.ownership().isDisputed())
                        .ifPresent(user -> byUser.computeIfAbsent(user, _ -> new ArrayList<>())
                                .add(new Holding.Share(environment, attachment)));
            }
        }
        return byUser;
    }

    private List<GpuProcess> processesOf(List<Holding.Share> shares, int device) {
        return shares.stream()
                .map(share -> share.environment().eid())
                .distinct()
                .flatMap(eid -> processes.getOrDefault(eid, List.of()).stream())
                .filter(process -> process.uses(device))
                .toList();
    }

    /**
     * The devices on which one of a user's environments is at work, by user. A process with another uid than the
     * environment that it names does not count: anybody can name anybody's environment.
     */
    private Map<String, Set<Integer>> busyDevices() {
        return snapshot.environments().stream()
                .filter(environment -> environment.user().isPresent()
                        && !environment.ownership().isDisputed())
                .collect(Collectors.toMap(
                        environment -> environment.user().orElseThrow(), this::busyDevices, (some, more) -> {
                            some.addAll(more);
                            return some;
                        }));
    }

    private Set<Integer> busyDevices(Environment environment) {
        return processes.getOrDefault(environment.eid(), List.of()).stream()
                .filter(process -> {
                    var uid = process.uid();
                    return uid == null || uid == 0 || uid.equals(environment.uid());
                })
                .filter(process -> !ending.covers(snapshot.host(), process))
                .flatMap(process -> process.devices().stream())
                .collect(Collectors.toCollection(HashSet::new));
    }
}

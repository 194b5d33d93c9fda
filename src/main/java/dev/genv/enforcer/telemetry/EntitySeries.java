package dev.genv.enforcer.telemetry;

import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.telemetry.GenvCollector.LabelText;
import dev.genv.enforcer.telemetry.GenvCollector.Series;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.ToIntFunction;
import java.util.stream.Stream;

/**
 * The series of the processes, environments and users of a host: a list for each process, then for each environment, then for each
 * user. Those that use nothing come last, because any user can record as many environments and user names as they like.
 */
final class EntitySeries {
    private static final Comparator<Use> ORDER =
            Comparator.comparing(Use::isIdle).thenComparing(Use::name);

    private final Snapshot snapshot;
    private final Map<String, Integer> processes = new HashMap<>();
    private final Map<String, Set<Integer>> devices = new HashMap<>();

    private EntitySeries(Snapshot snapshot) {
        this.snapshot = snapshot;
        snapshot.processesByEnvironment().forEach((eid, members) -> processes.put(eid, members.size()));
        for (var device : snapshot.devices()) {
            device.attachments().stream()
                    .map(Attachment::eid)
                    .forEach(eid ->
                            devices.computeIfAbsent(eid, _ -> new HashSet<>()).add(device.index()));
        }
    }

    /** What an environment, or all environments of a user, use. */
    private record Use(String name, int environments, int processes, int devices) {
        boolean isIdle() {
            return processes == 0 && devices == 0;
        }
    }

    static List<List<Series>> of(Snapshot snapshot) {
        var entities = new EntitySeries(snapshot);
        var all = new ArrayList<List<Series>>();
        snapshot.processes().forEach(process -> all.add(entities.ofProcess(process)));
        if (snapshot.has(SnapshotPart.ENVIRONMENTS)) {
            snapshot.environments().stream()
                    .map(environment -> entities.use(environment.eid(), Set.of(environment.eid())))
                    .sorted(ORDER)
                    .forEach(use -> all.add(entities.counts(
                                    use, GenvMetric.ENVIRONMENT_PROCESSES, GenvMetric.ENVIRONMENT_ATTACHED_DEVICES)
                            .toList()));
            users(snapshot).entrySet().stream()
                    .map(user -> entities.use(user.getKey(), user.getValue()))
                    .sorted(ORDER)
                    .forEach(use -> all.add(entities.ofUser(use)));
        }
        return all;
    }

    /** Returns the environments of each user who has a name, as genv counts users. */
    static Map<String, Set<String>> users(Snapshot snapshot) {
        var users = new TreeMap<String, Set<String>>();
        for (Environment environment : snapshot.environments()) {
            var name = environment.username();
            if (name != null && !name.isEmpty()) {
                users.computeIfAbsent(name, _ -> new HashSet<>()).add(environment.eid());
            }
        }
        return users;
    }

    private Use use(String name, Set<String> environments) {
        ToIntFunction<String> members = eid -> processes.getOrDefault(eid, 0);
        var attached = environments.stream()
                .map(eid -> devices.getOrDefault(eid, Set.of()))
                .flatMap(Collection::stream)
                .distinct()
                .count();
        return new Use(
                name,
                environments.size(),
                environments.stream().mapToInt(members).sum(),
                (int) attached);
    }

    private List<Series> ofProcess(GpuProcess process) {
        var pid = Integer.toString(process.pid());
        var eid = process.membership() instanceof Membership.InEnvironment(var named) ? LabelText.of(named) : "";
        var series = new ArrayList<Series>();
        series.add(new Series(
                GenvMetric.PROCESS_DEVICES, List.of(pid, eid), process.usage().size()));
        for (var use : process.usage()) {
            var memory = use.memory();
            if (memory != null) {
                series.add(new Series(
                        GenvMetric.PROCESS_USED_GPU_MEMORY,
                        List.of(pid, eid, Integer.toString(use.device())),
                        memory.bytes()));
            }
        }
        return series;
    }

    private List<Series> ofUser(Use use) {
        return Stream.concat(
                        Stream.of(series(GenvMetric.USER_ENVIRONMENTS, use, use.environments)),
                        counts(use, GenvMetric.USER_PROCESSES, GenvMetric.USER_ATTACHED_DEVICES))
                .toList();
    }

    private Stream<Series> counts(Use use, GenvMetric ofProcesses, GenvMetric ofDevices) {
        var counts = Stream.<Series>builder();
        if (snapshot.has(SnapshotPart.PROCESSES, SnapshotPart.EVERY_PROCESS, SnapshotPart.EVERY_ENVIRON)) {
            counts.add(series(ofProcesses, use, use.processes));
        }
        if (snapshot.has(SnapshotPart.ATTACHMENTS)) {
            counts.add(series(ofDevices, use, use.devices));
        }
        return counts.build();
    }

    private static Series series(GenvMetric metric, Use use, int value) {
        return new Series(metric, List.of(LabelText.of(use.name)), value);
    }
}

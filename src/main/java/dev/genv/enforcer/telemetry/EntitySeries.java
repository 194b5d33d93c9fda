package dev.genv.enforcer.telemetry;

import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.telemetry.GenvCollector.GenvMetric;
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

/**
 * The series of the processes, environments and users of a host: a list for each process, then for each environment, then for each
 * user. Those that use nothing come last, because any user can record as many environments and user names as they like.
 */
final class EntitySeries {
    private static final Comparator<Use> ORDER =
            Comparator.comparing(Use::isIdle).thenComparing(Use::name);

    private final Snapshot snapshot;
    private final Map<String, List<GpuProcess>> processes;
    private final Map<String, Set<Integer>> devices = new HashMap<>();

    private EntitySeries(Snapshot snapshot) {
        this.snapshot = snapshot;
        processes = snapshot.processesByEnvironment();
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

        Series series(GenvMetric metric, int value) {
            return new Series(metric, List.of(Series.label(name)), value);
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
                    .map(entities::ofEnvironment)
                    .forEach(all::add);
            users(snapshot).entrySet().stream()
                    .map(user -> entities.use(user.getKey(), user.getValue()))
                    .sorted(ORDER)
                    .map(entities::ofUser)
                    .forEach(all::add);
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
        var attached = environments.stream()
                .map(eid -> devices.getOrDefault(eid, Set.of()))
                .flatMap(Collection::stream)
                .distinct()
                .count();
        return new Use(
                name,
                environments.size(),
                environments.stream()
                        .mapToInt(eid -> processes.getOrDefault(eid, List.of()).size())
                        .sum(),
                (int) attached);
    }

    private List<Series> ofProcess(GpuProcess process) {
        var pid = Integer.toString(process.pid());
        var eid = process.membership() instanceof Membership.InEnvironment(var named) ? Series.label(named) : "";
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

    private List<Series> ofEnvironment(Use use) {
        return counts(use, GenvMetric.ENVIRONMENT_PROCESSES, GenvMetric.ENVIRONMENT_ATTACHED_DEVICES);
    }

    private List<Series> ofUser(Use use) {
        var series = counts(use, GenvMetric.USER_PROCESSES, GenvMetric.USER_ATTACHED_DEVICES);
        series.addFirst(use.series(GenvMetric.USER_ENVIRONMENTS, use.environments));
        return series;
    }

    private List<Series> counts(Use use, GenvMetric ofProcesses, GenvMetric ofDevices) {
        var series = new ArrayList<Series>();
        if (snapshot.has(SnapshotPart.PROCESSES, SnapshotPart.EVERY_PROCESS, SnapshotPart.EVERY_ENVIRON)) {
            series.add(use.series(ofProcesses, use.processes));
        }
        if (snapshot.has(SnapshotPart.ATTACHMENTS)) {
            series.add(use.series(ofDevices, use.devices));
        }
        return series;
    }
}

package dev.genv.enforcer.telemetry;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.telemetry.GenvCollector.GenvMetric;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The series of one host for genv's metrics. What was not observed has no series. */
final class GenvSeries {
    /** The largest number of series that users determine: enough for 8 devices with 40 processes each. */
    static final int MOST_OF_HOST = 1000;

    /** Of all hosts together; each host may have the same share. */
    private static final int MOST = 30_000;

    /** In characters, after the escapes: with the number of series it bounds the size of a scrape. */
    private static final int LONGEST_LABEL = 64;

    private final Snapshot host;

    private GenvSeries(Snapshot host) {
        this.host = host;
    }

    /** The value of a metric, and the values of the metric's labels, in their order. */
    record Series(GenvMetric metric, List<String> labels, double value) {
        /** What both have if they would be the same series in a scrape, which must not contain a series twice. */
        List<Object> identity() {
            return List.of(metric, labels);
        }
    }

    /** Returns the series of a host and its devices. */
    static List<Series> ofHost(Snapshot host) {
        var all = new ArrayList<Series>();
        var hasGenv = host.details().shown().hasGenv();
        add(all, GenvMetric.IS_INSTALLED, hasGenv == null ? null : hasGenv ? 1 : 0);
        for (var device : host.details().devices()) {
            var index = Integer.toString(device.index());
            add(all, GenvMetric.DEVICE_TEMPERATURE, device.temperature(), index);
            add(all, GenvMetric.DEVICE_UTILIZATION, device.utilization(), index);
            add(all, GenvMetric.DEVICE_MEMORY_USED, bytes(device.used()), index);
            add(all, GenvMetric.DEVICE_MEMORY_TOTAL, bytes(device.total()), index);
        }
        if (host.has(SnapshotPart.PROCESSES, SnapshotPart.EVERY_PROCESS)) {
            add(all, GenvMetric.PROCESSES, host.processes().size());
        }
        if (host.has(SnapshotPart.ENVIRONMENTS)) {
            add(all, GenvMetric.ENVIRONMENTS, host.environments().size());
            add(all, GenvMetric.USERS, users(host).size());
        }
        if (host.has(SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS)) {
            var attached = host.devices().stream()
                    .filter(device -> !device.attachments().isEmpty());
            add(all, GenvMetric.ATTACHED_DEVICES, attached.count());
        }
        return all;
    }

    private static @Nullable Long bytes(@Nullable Memory memory) {
        return memory == null ? null : Long.valueOf(memory.bytes());
    }

    /** Adds a series, unless its value is unknown. */
    private static void add(List<Series> all, GenvMetric metric, @Nullable Number value, String... labels) {
        if (value != null) {
            all.add(new Series(metric, List.of(labels), value.doubleValue()));
        }
    }

    /** Returns how many series that users determine each of the hosts may have. */
    static int mostOf(int hosts) {
        return Math.min(MOST_OF_HOST, MOST / Math.max(1, hosts));
    }

    /**
     * Returns the series of the processes, environments and users of a host, whose number users determine: the first groups that fit, each of
     * them whole, and the number of those that are left out. A series that another one equals after its labels were shortened is left out too.
     */
    static List<Series> ofEntities(Snapshot host, int limit) {
        var kept = new ArrayList<Series>();
        var seen = new HashSet<List<Object>>();
        var omitted = 0;
        for (var group : new GenvSeries(host).groups()) {
            var isNew = group.stream().map(Series::identity).noneMatch(seen::contains);
            if (isNew && kept.size() + group.size() <= limit) {
                group.stream().map(Series::identity).forEach(seen::add);
                kept.addAll(group);
            } else {
                omitted += group.size();
            }
        }
        add(kept, GenvMetric.OMITTED, omitted, label(host.host()));
        return kept;
    }

    /** A group for each process, then for each environment, then for each user. */
    private List<List<Series>> groups() {
        var groups = new ArrayList<List<Series>>();
        host.processes().forEach(process -> groups.add(ofProcess(process)));
        if (host.has(SnapshotPart.ENVIRONMENTS)) {
            var environments = new TreeMap<String, Set<String>>();
            host.environments().forEach(environment -> environments.put(environment.eid(), Set.of(environment.eid())));
            groups.addAll(ofOwners(
                    environments, null, GenvMetric.ENVIRONMENT_PROCESSES, GenvMetric.ENVIRONMENT_ATTACHED_DEVICES));
            groups.addAll(ofOwners(
                    users(host),
                    GenvMetric.USER_ENVIRONMENTS,
                    GenvMetric.USER_PROCESSES,
                    GenvMetric.USER_ATTACHED_DEVICES));
        }
        return groups;
    }

    /** Returns the environments of each user who has a name, as genv counts users. */
    private static SortedMap<String, Set<String>> users(Snapshot host) {
        var users = new TreeMap<String, Set<String>>();
        for (var environment : host.environments()) {
            var name = environment.username();
            if (name != null && !name.isEmpty()) {
                users.computeIfAbsent(name, _ -> new HashSet<>()).add(environment.eid());
            }
        }
        return users;
    }

    private static List<Series> ofProcess(GpuProcess process) {
        var pid = Integer.toString(process.pid());
        var eid = process.membership() instanceof Membership.InEnvironment(var named) ? label(named) : "";
        var series = new ArrayList<Series>();
        add(series, GenvMetric.PROCESS_DEVICES, process.usage().size(), pid, eid);
        for (var use : process.usage()) {
            var device = Integer.toString(use.device());
            add(series, GenvMetric.PROCESS_USED_GPU_MEMORY, bytes(use.memory()), pid, eid, device);
        }
        return series;
    }

    /**
     * Returns a group for each owner of environments. Those that use nothing come last, because any user can record as many environments
     * and user names as they like.
     */
    private List<List<Series>> ofOwners(
            SortedMap<String, Set<String>> owners,
            @Nullable GenvMetric ofEnvironments,
            GenvMetric ofProcesses,
            GenvMetric ofDevices) {
        var processes = host.processesByEnvironment();
        var devices = devicesByEnvironment();
        var groups = new ArrayList<List<Series>>();
        var idle = new ArrayList<List<Series>>();
        owners.forEach((name, environments) -> {
            var used = environments.stream()
                    .mapToInt(eid -> processes.getOrDefault(eid, List.of()).size())
                    .sum();
            var attached = environments.stream()
                    .map(eid -> devices.getOrDefault(eid, Set.of()))
                    .flatMap(Collection::stream)
                    .distinct()
                    .count();
            var group = new ArrayList<Series>();
            if (ofEnvironments != null) {
                add(group, ofEnvironments, environments.size(), label(name));
            }
            if (host.has(SnapshotPart.PROCESSES, SnapshotPart.EVERY_PROCESS, SnapshotPart.EVERY_ENVIRON)) {
                add(group, ofProcesses, used, label(name));
            }
            if (host.has(SnapshotPart.ATTACHMENTS)) {
                add(group, ofDevices, attached, label(name));
            }
            (used == 0 && attached == 0 ? idle : groups).add(group);
        });
        groups.addAll(idle);
        return groups;
    }

    private Map<String, Set<Integer>> devicesByEnvironment() {
        var devices = new HashMap<String, Set<Integer>>();
        host.devices()
                .forEach(device -> device.attachments()
                        .forEach(attachment -> devices.computeIfAbsent(attachment.eid(), _ -> new HashSet<>())
                                .add(device.index())));
        return devices;
    }

    /** Returns text that users chose as the value of a label: without control characters and the like, and cut. */
    static String label(String text) {
        var escaped = SafeText.escape(text, LONGEST_LABEL);
        if (escaped.length() <= LONGEST_LABEL) {
            return escaped;
        }
        var last = escaped.charAt(LONGEST_LABEL - 1);
        return escaped.substring(0, Character.isHighSurrogate(last) ? LONGEST_LABEL - 1 : LONGEST_LABEL);
    }
}

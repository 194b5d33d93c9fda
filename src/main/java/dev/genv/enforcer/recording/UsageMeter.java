package dev.genv.enforcer.recording;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.store.Sql;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Adds up for how long users hold and use devices, in milliseconds: two devices for an hour are two device hours. The time between two cycles
 * counts for what the earlier one observed. A device counts once for a user, and only if the GPU tool lists it.
 */
final class UsageMeter {
    /** The largest number of users with rows of their own in an hour on a host, because users can write any name. */
    static final int MAX_USERS = 2_000;

    private static final long HOUR = Duration.ofHours(1).toMillis();
    private static final long MINUTE = Duration.ofMinutes(1).toMillis();
    /** How long the sums wait for a database that cannot be written. */
    private static final long LONGEST_WAIT = 24 * HOUR;

    private final UserNames names = new UserNames();
    /** What each host was last observed to use. A host of which something is missing is left out. */
    private Map<String, Map<String, Times>> present = Map.of();
    /** What is not written yet. */
    private Map<HostHour, Sum> sums = new HashMap<>();
    /** The users with rows of their own. */
    private final Map<HostHour, Set<String>> users = new HashMap<>();
    /** Only the thread of the database uses it. */
    private long writtenAt;

    /** An hour by its begin. */
    private record HostHour(long hour, String host) {}

    /** Numbers of devices, or the time of devices. Idle are held devices on which no process of anybody runs. */
    private record Times(long held, long used, long idle) {
        static final Times NONE = new Times(0, 0, 0);

        Times plus(Times other, long factor) {
            return new Times(held + other.held * factor, used + other.used * factor, idle + other.idle * factor);
        }
    }

    /** What was observed of a host in an hour. */
    private static final class Sum {
        final Map<String, Times> byUser = new HashMap<>();
        long time;
    }

    /** Counts the time since the previous cycle for what that one observed, and continues with this one. */
    synchronized void record(long at, long elapsed, Collection<Snapshot> hosts) {
        var begin = at - elapsed;
        while (begin < at) {
            var hour = Math.floorDiv(begin, HOUR) * HOUR;
            var end = Math.min(at, hour + HOUR);
            for (var host : present.entrySet()) {
                add(new HostHour(hour, host.getKey()), end - begin, host.getValue(), end - begin);
            }
            begin = end;
        }
        var next = new HashMap<String, Map<String, Times>>();
        for (var host : hosts) {
            if (host.has(SnapshotPart.PROCESSES, SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS)) {
                next.put(host.host(), usage(host));
            }
        }
        present = next;
        sums.keySet().removeIf(key -> key.hour < at - LONGEST_WAIT);
        users.keySet().removeIf(key -> key.hour < at - LONGEST_WAIT);
    }

    private void add(HostHour key, long time, Map<String, Times> byUser, long factor) {
        var sum = sums.computeIfAbsent(key, _ -> new Sum());
        var known = users.computeIfAbsent(key, _ -> new HashSet<>());
        sum.time += time;
        byUser.forEach((name, times) -> {
            var hasRow = known.contains(name) || (known.size() < MAX_USERS && known.add(name));
            sum.byUser.merge(
                    hasRow ? name : UserNames.UNKNOWN,
                    Times.NONE.plus(times, factor),
                    (before, more) -> before.plus(more, 1));
        });
    }

    private Map<String, Times> usage(Snapshot snapshot) {
        names.add(snapshot);
        var onHost = names.on(snapshot);
        var held = new HashMap<String, Set<Integer>>();
        for (var device : snapshot.devices()) {
            if (snapshot.listedDevices().contains(device.index())) {
                for (var attachment : device.attachments()) {
                    onHost.ofEnvironment(attachment.eid())
                            .ifPresent(user -> held.computeIfAbsent(user, _ -> new HashSet<>())
                                    .add(device.index()));
                }
            }
        }
        var used = new HashMap<String, Set<Integer>>();
        snapshot.processes().forEach(process -> add(used, onHost, process, process.devices()));
        snapshot.unlisted().holders().forEach(holder -> add(used, onHost, holder.process(), holder.used()));
        var busy = new HashSet<Integer>();
        used.values().forEach(busy::addAll);
        var usage = new HashMap<String, Times>();
        held.forEach((user, devices) -> {
            var idle = devices.stream().filter(device -> !busy.contains(device)).count();
            usage.put(user, new Times(devices.size(), 0, idle));
        });
        used.forEach((user, devices) ->
                usage.merge(user, new Times(0, devices.size(), 0), (one, other) -> one.plus(other, 1)));
        return usage;
    }

    private static void add(
            Map<String, Set<Integer>> used, UserNames.OnHost onHost, GpuProcess process, Collection<Integer> devices) {
        var immunity = process.immunity();
        if (!devices.isEmpty() && (immunity == null || immunity.kind() != Immunity.Kind.PROTECTED)) {
            used.computeIfAbsent(onHost.of(process), _ -> new HashSet<>()).addAll(devices);
        }
    }

    /**
     * Writes the sums if the last ones were written a minute ago, or in another hour, and returns whether it did. Only the thread of the database
     * calls it.
     */
    boolean writeDue(Connection connection, long at) throws SQLException {
        var isDue = Math.abs(at - writtenAt) >= MINUTE || at / HOUR != writtenAt / HOUR;
        if (isDue) {
            write(connection);
            writtenAt = at;
        }
        return isDue;
    }

    void write(Connection connection) throws SQLException {
        var taken = take();
        try {
            for (var each : taken.entrySet()) {
                write(connection, each.getKey(), each.getValue());
            }
        } catch (SQLException e) {
            restore(taken);
            throw e;
        }
    }

    private synchronized Map<HostHour, Sum> take() {
        var taken = sums;
        sums = new HashMap<>();
        return taken;
    }

    private synchronized void restore(Map<HostHour, Sum> taken) {
        taken.forEach((key, sum) -> add(key, sum.time, sum.byUser, 1));
    }

    private static void write(Connection connection, HostHour key, Sum sum) throws SQLException {
        new Sql(connection)
                .update(
                        "INSERT INTO observed VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET time = time + excluded.time",
                        key.hour,
                        key.host,
                        sum.time);
        for (var user : sum.byUser.entrySet()) {
            var times = user.getValue();
            new Sql(connection)
                    .update(
                            "INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET held = held + excluded.held,"
                                    + " used = used + excluded.used, idle = idle + excluded.idle",
                            key.hour,
                            key.host,
                            user.getKey(),
                            times.held,
                            times.used,
                            times.idle);
        }
    }
}

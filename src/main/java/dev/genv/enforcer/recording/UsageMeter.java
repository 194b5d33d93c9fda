package dev.genv.enforcer.recording;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.HostUsers;
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
import java.util.stream.Stream;

/**
 * Adds up for how long users hold and use devices, in milliseconds: two devices for an hour are two device hours. The time between two cycles
 * counts for what the earlier one observed. A device counts once for a user, and an attachment only if the GPU tool lists the device.
 *
 * <p>The time in which a device is attached to the user (held) or has a process of the user (present) is divided into three parts. Used: a
 * process of the user ran on it, and its utilization was above 0. Unknown: a process of the user ran on it, and its utilization is unknown, as
 * with MIG. Idle: the rest, also if another user computed on it. The utilization is measured for the device: if processes of two users are on
 * it, both use it.
 */
final class UsageMeter {
    /** The largest number of users with rows of their own in an hour on a host, because users can write any name. */
    static final int MAX_USERS = 2_000;

    private static final long HOUR = Duration.ofHours(1).toMillis();
    private static final long MINUTE = Duration.ofMinutes(1).toMillis();
    /** How long the sums wait for a database that cannot be written. */
    private static final long LONGEST_WAIT = 24 * HOUR;

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

    /** Numbers of devices, or the time of devices. */
    private record Times(long held, long present, long used, long unknown, long idle) {
        Times plus(Times other) {
            return new Times(
                    held + other.held,
                    present + other.present,
                    used + other.used,
                    unknown + other.unknown,
                    idle + other.idle);
        }

        Times times(long factor) {
            return new Times(held * factor, present * factor, used * factor, unknown * factor, idle * factor);
        }
    }

    /** What was observed of a host in an hour. */
    private static final class Sum {
        final Map<String, Times> byUser = new HashMap<>();
        long time;
    }

    /** Counts the time since the previous cycle for what that one observed, and continues with this one. */
    synchronized void count(long at, long elapsed, Collection<Snapshot> hosts) {
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
            sum.byUser.merge(hasRow ? name : HostUsers.UNKNOWN, times.times(factor), Times::plus);
        });
    }

    /** Returns the numbers of devices of each user on a host. */
    private static Map<String, Times> usage(Snapshot snapshot) {
        var users = new HostUsers(snapshot);
        var environments = snapshot.environmentsById();
        var held = new HashMap<String, Set<Integer>>();
        for (var device : snapshot.devices()) {
            if (snapshot.listedDevices().contains(device.index())) {
                device.attachments().stream()
                        .flatMap(attachment -> Stream.ofNullable(environments.get(attachment.eid())))
                        .forEach(environment -> add(held, users.of(environment), Set.of(device.index())));
            }
        }
        var present = new HashMap<String, Set<Integer>>();
        snapshot.processes().forEach(process -> add(present, users, process, process.devices()));
        var utilization = snapshot.details().utilization();
        var usage = new HashMap<String, Times>();
        held.forEach((user, devices) -> devices.forEach(device -> {
            if (!present.getOrDefault(user, Set.of()).contains(device)) {
                usage.merge(user, new Times(1, 0, 0, 0, 1), Times::plus);
            }
        }));
        present.forEach((user, devices) -> devices.forEach(device -> {
            var percent = utilization.get(device);
            var isHeld = held.getOrDefault(user, Set.of()).contains(device);
            usage.merge(
                    user,
                    new Times(
                            isHeld ? 1 : 0,
                            1,
                            percent != null && percent > 0 ? 1 : 0,
                            percent == null ? 1 : 0,
                            percent != null && percent == 0 ? 1 : 0),
                    Times::plus);
        }));
        return usage;
    }

    private static void add(
            Map<String, Set<Integer>> present, HostUsers users, GpuProcess process, Collection<Integer> devices) {
        if (!devices.isEmpty() && !process.isProtected()) {
            add(present, users.of(process), devices);
        }
    }

    private static void add(Map<String, Set<Integer>> devicesOf, String user, Collection<Integer> devices) {
        devicesOf.computeIfAbsent(user, _ -> new HashSet<>()).addAll(devices);
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
                            "INSERT INTO usage (hour, host, user, held, present, used, unknown, idle) VALUES (?, ?, ?,"
                                    + " ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET held = held + excluded.held, present ="
                                    + " present + excluded.present, used = used + excluded.used, unknown = unknown +"
                                    + " excluded.unknown, idle = idle + excluded.idle",
                            key.hour,
                            key.host,
                            user.getKey(),
                            times.held,
                            times.present,
                            times.used,
                            times.unknown,
                            times.idle);
        }
    }
}

package dev.genv.enforcer.recording.replay;

import dev.genv.enforcer.recording.RecordedCycle;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Adds up for how long users held and used devices between two instants. Time in which a host was not observed is not counted. Time
 * between two cycles belongs to what the earlier one observed.
 */
public final class UsageMeter {
    /** The largest number of pairs of a user and a host, because users can write any name. The others are added to no user. */
    static final int MAX_ENTRIES = 10_000;

    private final Instant from;
    private final Instant to;
    private final Map<String, HostMeter> hosts = new TreeMap<>();
    private final UserNames names;
    private int entries;

    /**
     * Creates a meter.
     *
     * @param names the meter adds the names that the cycles show
     */
    public UsageMeter(Instant from, Instant to, UserNames names) {
        this.from = from;
        this.to = to;
        this.names = names;
    }

    /** One host. Times are added only when the usage changes. */
    private final class HostMeter {
        private final Map<UserKey, DeviceTime> byUser = new HashMap<>();
        private HostUsage usage = HostUsage.UNOBSERVED;
        private Duration observed = Duration.ZERO;
        private Duration sinceChange = Duration.ZERO;

        void change(HostUsage next) {
            if (!sinceChange.isZero()) {
                usage.byUser().forEach(this::add);
                sinceChange = Duration.ZERO;
            }
            usage = next;
        }

        private void add(UserKey user, HostUsage.Devices devices) {
            var known = byUser.get(user);
            var key = known != null || entries < MAX_ENTRIES ? user : UserKey.UNKNOWN;
            if (known == null && !key.equals(UserKey.UNKNOWN)) {
                entries++;
            }
            byUser.merge(key, devices.during(sinceChange), DeviceTime::plus);
        }

        void elapse(Duration time) {
            if (usage.isObserved()) {
                observed = observed.plus(time);
                sinceChange = sinceChange.plus(time);
            }
        }
    }

    /** Counts the time until a cycle, and continues with what it observed. */
    public void add(RecordedCycle cycle) {
        var time = within(cycle);
        if (time.isPositive()) {
            hosts.values().forEach(host -> host.elapse(time));
        }
        names.add(cycle);
        for (var name : cycle.changed()) {
            var snapshot = cycle.snapshots().get(name);
            if (snapshot != null) {
                hosts.computeIfAbsent(name, _ -> new HostMeter()).change(HostUsage.of(snapshot, names));
            } else if (hosts.containsKey(name)) {
                hosts.get(name).change(HostUsage.UNOBSERVED);
            }
        }
    }

    /** Returns the part of the time before a cycle that is between the instants. */
    private Duration within(RecordedCycle cycle) {
        var begin = cycle.at().minus(cycle.since());
        return Duration.between(begin.isBefore(from) ? from : begin, cycle.at().isAfter(to) ? to : cycle.at());
    }

    /** Ends the count, and returns the usage of each host by its name. */
    public Map<String, Usage> finish() {
        var result = new TreeMap<String, Usage>();
        hosts.forEach((name, host) -> {
            host.change(HostUsage.UNOBSERVED);
            if (host.observed.isPositive()) {
                result.put(name, new Usage(host.observed, byName(host.byUser)));
            }
        });
        return result;
    }

    private Map<Optional<String>, DeviceTime> byName(Map<UserKey, DeviceTime> byUser) {
        var byName = new HashMap<Optional<String>, DeviceTime>();
        byUser.forEach((user, time) -> byName.merge(names.nameOf(user), time, DeviceTime::plus));
        return byName;
    }

    /**
     * The usage of a host.
     *
     * @param observed for how long it was observed
     * @param byUser the time of its devices by user; an empty user stands for all who are not known
     */
    public record Usage(Duration observed, Map<Optional<String>, DeviceTime> byUser) {}
}

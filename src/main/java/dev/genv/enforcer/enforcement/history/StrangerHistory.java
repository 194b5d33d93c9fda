package dev.genv.enforcer.enforcement.history;

import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.definition.StateChangeKind;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Plan;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The processes in environments, and for how long each was observed in an environment of another user. */
public final class StrangerHistory {
    private static final Duration RETENTION = Duration.ofHours(1);

    /** Users choose the number of processes. Above this number, absent ones are forgotten at once. */
    private static final int MAX_ABSENT = 10_000;

    /** Users choose the ids of environments too; genv's own ids are pids. */
    private static final int LONGEST_ID = 256;

    private final Ticker ticker;
    private final Map<Key, History> histories = new HashMap<>();
    private long recordedAt;

    /** A process in an environment that it names. */
    public record Key(HostProcess process, String environment) {
        static Key of(Action.Terminate action) {
            return new Key(action.target(), action.environmentId());
        }
    }

    /**
     * What was observed of a process.
     *
     * @param belongs whether the environment belonged to the process's user in any observation of both
     * @param length for how long the process was observed as a stranger
     * @param at when it was last observed, by the ticker's mark
     * @param isStranger whether the last observation found a stranger
     */
    private record History(boolean belongs, Duration length, long at, boolean isStranger) {}

    /**
     * What is saved of a process, in a form that stays the same while it is observed.
     *
     * @param at for a stranger, when it was last observed less the length; else when it was last observed; null if by the last cycle
     */
    public record Saved(
            boolean belongs, Duration length, @Nullable Long at, boolean isStranger) {
        /** Returns the saved value of a process whose time as a stranger begins at this mark. */
        Saved begunAt(long mark) {
            return new Saved(belongs, Duration.ZERO, isStranger ? Long.valueOf(mark) : at, isStranger);
        }
    }

    StrangerHistory(Ticker ticker) {
        this.ticker = ticker;
    }

    Map<Key, Saved> save() {
        var saved = new HashMap<Key, Saved>();
        histories.forEach((key, known) -> {
            if (known.isStranger) {
                saved.put(key, new Saved(known.belongs, Duration.ZERO, known.at - known.length.toNanos(), true));
            } else {
                saved.put(key, new Saved(known.belongs, known.length, known.at == recordedAt ? null : known.at, false));
            }
        });
        return saved;
    }

    /** Restores saved processes; the ticker has the mark of the last cycle. */
    void restore(Map<Key, Saved> saved) {
        recordedAt = ticker.mark();
        saved.forEach((key, was) -> histories.put(
                key,
                new History(was.belongs, was.length, Objects.requireNonNullElse(was.at, recordedAt), was.isStranger)));
    }

    /** Records a cycle. Time counts from an observation of a stranger to the next cycle, whatever that finds. */
    void record(List<HostReport> hosts, Plan plan) {
        var now = ticker.mark();
        recordedAt = now;
        for (var host : hosts) {
            var environments = host.snapshot().environmentsById();
            host.snapshot().processesByEnvironment().forEach((eid, processes) -> {
                if (eid.length() <= LONGEST_ID) {
                    processes.forEach(process -> observe(host.snapshot(), environments.get(eid), process, eid, now));
                }
            });
        }
        var strangers = new HashSet<Key>();
        for (var planned : plan.actions()) {
            if (planned.rules().stream().anyMatch(rule -> rule.restsOn(StateChangeKind.OWNER_FORGED))
                    && planned.action() instanceof Action.Terminate terminate) {
                strangers.add(Key.of(terminate));
            }
        }
        histories.replaceAll((key, known) -> known.isStranger || strangers.contains(key)
                ? new History(
                        known.belongs,
                        known.isStranger ? known.length.plusNanos(now - known.at) : known.length,
                        now,
                        strangers.contains(key))
                : known);
        var isFull = histories.size() > MAX_ABSENT;
        histories
                .values()
                .removeIf(known ->
                        known.at != now && (isFull || ticker.since(known.at).compareTo(RETENTION) > 0));
    }

    /** A disputed or absent environment is included: what is known of a process is kept as long as it runs. */
    private void observe(
            Snapshot snapshot, @Nullable Environment environment, GpuProcess process, String eid, long now) {
        var key = new Key(new HostProcess(snapshot.host(), process.id()), eid);
        var known = histories.get(key);
        if (process.uid() == null || (known == null && environment == null)) {
            return;
        }
        var belongs = environment != null
                && !(environment.isStranger(process.uid())
                        && environment.isStranger(snapshot.userOf(process.uid(), environment)));
        histories.put(
                key,
                known == null
                        ? new History(belongs, Duration.ZERO, now, false)
                        : new History(
                                known.belongs || belongs,
                                known.length,
                                known.isStranger ? known.at : now,
                                known.isStranger));
    }

    /** Returns the stay of the process in the environment that it names; empty if it was never observed there. */
    Optional<Evidence.Stay> stay(Action action) {
        return action instanceof Action.Terminate terminate
                ? Optional.ofNullable(histories.get(Key.of(terminate)))
                        .map(known -> new Evidence.Stay(known.belongs, known.length))
                : Optional.empty();
    }
}

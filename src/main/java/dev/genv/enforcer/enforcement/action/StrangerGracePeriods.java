package dev.genv.enforcer.enforcement.action;

import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.definition.StateChangeKind;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Plan;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The grace period of processes in environments of other users. It always applies to a rule that rests on a forged owner, because
 * the owner of an environment is recorded in genv's files, which every user can write.
 */
final class StrangerGracePeriods {
    private static final Duration RETENTION = Duration.ofHours(1);

    /** Users choose the number of processes. Above this number, absent ones are forgotten at once. */
    private static final int MAX_ABSENT = 10_000;

    /** Users choose the ids of environments too; genv's own ids are pids. */
    private static final int LONGEST_ID = 256;

    private final Duration grace;
    private final Ticker ticker;
    private final Map<Stay, History> histories = new HashMap<>();

    /** A process in an environment that it names. */
    private record Stay(HostProcess process, String environment) {
        static Stay of(Action.Terminate action) {
            return new Stay(action.target(), action.environmentId());
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

    StrangerGracePeriods(Duration grace, Ticker ticker) {
        this.grace = grace;
        this.ticker = ticker;
    }

    /** Records a cycle. Time counts from an observation of a stranger to the next cycle, whatever that finds. */
    void record(List<HostReport> hosts, Plan plan) {
        var now = ticker.mark();
        for (var host : hosts) {
            var environments = host.snapshot().environmentsById();
            host.snapshot().processesByEnvironment().forEach((eid, processes) -> {
                if (eid.length() <= LONGEST_ID) {
                    processes.forEach(process -> observe(host.snapshot(), environments.get(eid), process, eid, now));
                }
            });
        }
        var strangers = new HashSet<Stay>();
        for (var planned : plan.actions()) {
            if (planned.rules().stream().anyMatch(rule -> rule.restsOn(StateChangeKind.OWNER_FORGED))
                    && planned.action() instanceof Action.Terminate terminate) {
                strangers.add(Stay.of(terminate));
            }
        }
        histories.replaceAll((stay, known) -> known.isStranger || strangers.contains(stay)
                ? new History(
                        known.belongs,
                        known.isStranger ? known.length.plus(ticker.since(known.at)) : known.length,
                        now,
                        strangers.contains(stay))
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
        var stay = new Stay(new HostProcess(snapshot.host(), process.id()), eid);
        var known = histories.get(stay);
        if (process.uid() == null || (known == null && environment == null)) {
            return;
        }
        var belongs = environment != null
                && !(environment.isStranger(process.uid())
                        && environment.isStranger(snapshot.userOf(process.uid(), environment)));
        histories.put(
                stay,
                known == null
                        ? new History(belongs, Duration.ZERO, now, false)
                        : new History(
                                known.belongs || belongs,
                                known.length,
                                known.isStranger ? known.at : now,
                                known.isStranger));
    }

    /** Returns why the process is not yet, or never, terminated as a stranger; empty if it may be. */
    Optional<String> reasonToWait(Action action) {
        var known = action instanceof Action.Terminate terminate ? histories.get(Stay.of(terminate)) : null;
        if (known == null) {
            return Optional.of("it was not observed in an environment of another user");
        }
        if (known.belongs) {
            return Optional.of("environment %s belonged to its user when it was observed there"
                    .formatted(SafeText.escape(action.environmentId())));
        }
        return known.length.compareTo(grace) < 0
                ? Optional.of(
                        "it must be observed in an environment of another user for %d s".formatted(grace.toSeconds()))
                : Optional.empty();
    }
}

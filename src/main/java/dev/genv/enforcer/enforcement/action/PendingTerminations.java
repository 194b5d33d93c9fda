package dev.genv.enforcer.enforcement.action;

import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.PlannedAction;
import dev.genv.enforcer.policy.plan.Signal;
import dev.genv.enforcer.policy.plan.Violation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The processes that were signalled, until they exit or break no rule for the compliance period. Workers whose result is no
 * longer awaited also record here. */
final class PendingTerminations {
    /** How long rules treat a signalled process as gone if SIGKILL is disabled. */
    private static final Duration COUNTS_AS_FREED = Duration.ofSeconds(60);

    /** The time that the kernel and the driver need to remove a killed process. */
    private static final Duration PROCESS_REMOVAL_TIME = Duration.ofSeconds(10);

    /** A host that leaves the list by mistake may return within this time. */
    private static final Duration RETENTION = Duration.ofHours(1);

    private final @Nullable Duration killAfter;
    private final Duration compliancePeriod;
    private final Ticker ticker;
    private final Map<HostProcess, SignalledProcess> pending = new HashMap<>();

    /**
     * Creates an empty list.
     *
     * @param killAfter how long a process must continue to break rules before SIGKILL; null for never
     * @param compliancePeriod how long a process must break no rule before it is forgotten; if it breaks a rule later, it gets
     *     SIGTERM first. It is not forgotten at once: the GPU tool may temporarily omit it, many training programs abort at a second
     *     SIGTERM, and a process may break rules only in every second observation
     */
    PendingTerminations(@Nullable Duration killAfter, Duration compliancePeriod, Ticker ticker) {
        this.killAfter = killAfter;
        this.compliancePeriod = compliancePeriod;
        this.ticker = ticker;
    }

    synchronized Set<HostProcess> all() {
        return Set.copyOf(pending.keySet());
    }

    synchronized List<HostProcess> processesOn(String host) {
        return pending.keySet().stream()
                .filter(process -> process.host().equals(host))
                .sorted()
                .toList();
    }

    synchronized boolean contains(HostProcess process) {
        return pending.containsKey(process);
    }

    /** Returns the processes that were signalled so recently that rules treat them as gone. */
    synchronized Set<HostProcess> recentlySignalled() {
        var freed = killAfter == null ? COUNTS_AS_FREED : killAfter.plus(PROCESS_REMOVAL_TIME);
        return pending.entrySet().stream()
                .filter(entry -> ticker.since(entry.getValue().signalledAt).compareTo(freed) < 0)
                .map(Map.Entry::getKey)
                .collect(Collectors.toUnmodifiableSet());
    }

    /** Records that a process was signalled. */
    synchronized void signalled(PlannedAction planned, Action.Terminate action) {
        var known = pending.get(action.target());
        if (action.signal() == Signal.KILL && known != null) {
            known.killedAt = ticker.mark();
            known.last = planned;
        } else {
            pending.put(action.target(), new SignalledProcess(planned, ticker.mark()));
        }
    }

    /**
     * Records that a process may have been signalled, if the result is unknown. It is treated as signalled, because many training
     * programs abort at a second SIGTERM. But it gets no SIGKILL; if it continues, it is signalled again.
     */
    synchronized void possiblySignalled(PlannedAction planned, Action.Terminate action) {
        if (!pending.containsKey(action.target())) {
            var one = new SignalledProcess(planned, ticker.mark());
            one.uncertain = true;
            pending.put(action.target(), one);
        }
    }

    /** Forgets, after a while, the processes of hosts that left the list. */
    synchronized void keepOnly(Set<String> hosts) {
        pending.entrySet().removeIf(entry -> {
            if (hosts.contains(entry.getKey().host())) {
                return false;
            }
            entry.getValue().unseen = true;
            return ticker.since(entry.getValue().signalledAt).compareTo(RETENTION) > 0;
        });
    }

    /** Removes the processes that have exited, and returns the last action on each. */
    synchronized List<PlannedAction> removeEnded(HostReport host) {
        var ended = new ArrayList<PlannedAction>();
        for (var process : host.ended()) {
            var known = pending.remove(new HostProcess(host.host(), process));
            if (known != null) {
                ended.add(known.last);
            }
        }
        return ended;
    }

    /** What to do next about a signalled process. */
    enum NextStep {
        NOTHING,
        KILL,
        /** It still exists long after SIGKILL. */
        UNKILLABLE
    }

    /**
     * Records whether a signalled process still breaks rules.
     *
     * @param breaks the violations for which it would be terminated now
     * @param sure whether the observation was complete; otherwise an absent violation proves nothing
     */
    synchronized NextStep recordCheck(HostProcess process, Collection<Violation> breaks, boolean sure) {
        var known = pending.get(process);
        if (known == null) {
            return NextStep.NOTHING;
        }
        if (breaks.isEmpty()) {
            if (!sure) {
                known.unseen = true;
            } else if (known.recordCompliance(ticker, killAfter).compareTo(compliancePeriod) >= 0) {
                pending.remove(process);
            }
            return NextStep.NOTHING;
        }
        known.recordViolation(ticker, killAfter);
        if (known.uncertain) {
            if (known.violationTime.compareTo(killAfter == null ? COUNTS_AS_FREED : killAfter) >= 0) {
                pending.remove(process); // so it is signalled again
            }
            return NextStep.NOTHING;
        }
        if (known.killedAt != null) {
            return ticker.since(known.killedAt).compareTo(PROCESS_REMOVAL_TIME) >= 0
                    ? NextStep.UNKILLABLE
                    : NextStep.NOTHING;
        }
        return killAfter != null && known.violationTime.compareTo(killAfter) >= 0 ? NextStep.KILL : NextStep.NOTHING;
    }

    /** Returns the violations for which a process was signalled. */
    synchronized Set<Violation.Key> causesOf(HostProcess process) {
        return Optional.ofNullable(pending.get(process)).stream()
                .flatMap(known -> known.last.causes().stream())
                .map(Violation::key)
                .collect(Collectors.toUnmodifiableSet());
    }

    /** A signalled process. */
    private static final class SignalledProcess {
        private final long signalledAt;
        private PlannedAction last;
        private @Nullable Long killedAt;

        /** Whether the result of the signal is unknown. */
        private boolean uncertain;

        /** How long it has continued to break rules; time after an observation without a violation does not count. */
        private Duration violationTime = Duration.ZERO;

        private @Nullable Long violationSince;
        private @Nullable Long compliantSince;

        /** Whether an observation after it was last seen was incomplete. */
        private boolean unseen;

        SignalledProcess(PlannedAction planned, long now) {
            last = planned;
            signalledAt = now;
            violationSince = now;
        }

        void recordViolation(Ticker ticker, @Nullable Duration killAfter) {
            addViolationTime(ticker, unseen ? killAfter : null);
            violationSince = ticker.mark();
            compliantSince = null;
            unseen = false;
        }

        /** Records that it breaks no rule now. The moment at which it stopped is unknown, so the time since the last observation counts. */
        Duration recordCompliance(Ticker ticker, @Nullable Duration killAfter) {
            addViolationTime(ticker, killAfter);
            violationSince = null;
            unseen = false;
            if (compliantSince == null) {
                compliantSince = ticker.mark();
            }
            return ticker.since(compliantSince);
        }

        /** Time during which it was not observed counts for at most half of the time until SIGKILL. */
        private void addViolationTime(Ticker ticker, @Nullable Duration halved) {
            if (violationSince != null) {
                var more = ticker.since(violationSince);
                var most = halved == null ? more : halved.dividedBy(2);
                violationTime = violationTime.plus(more.compareTo(most) > 0 ? most : more);
            }
        }
    }
}

package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.PlannedAction;
import dev.genv.enforcer.policy.Signal;
import dev.genv.enforcer.policy.Violation;
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

/** The processes that were asked to end, until they have, or have behaved for a while. Also told by late workers. */
final class AskedProcesses {
    /** How long what an asked process holds counts as freed, where nobody ever kills it. */
    private static final Duration COUNTS_AS_FREED = Duration.ofSeconds(60);

    /** What the kernel and the driver need to take a killed process apart. */
    private static final Duration TAKING_APART = Duration.ofSeconds(10);

    /** A list of hosts may be wrong for a while. */
    private static final Duration FORGOTTEN = Duration.ofHours(1);

    private final @Nullable Duration killAfter;
    private final Duration compliancePeriod;
    private final Ticker ticker;
    private final Map<HostProcess, Asked> asked = new HashMap<>();

    /**
     * Knows none yet.
     *
     * @param killAfter for how long a process must go on breaking rules to be killed; null for never
     * @param compliancePeriod how long a process must break no rule to be forgotten: if it then breaks one again it is asked
     *     again, before anything worse. Not at once: the GPU tool may lose sight of one, a second SIGTERM makes many a trainer
     *     abort, and a process may break rules only in every second look
     */
    AskedProcesses(@Nullable Duration killAfter, Duration compliancePeriod, Ticker ticker) {
        this.killAfter = killAfter;
        this.compliancePeriod = compliancePeriod;
        this.ticker = ticker;
    }

    synchronized Set<HostProcess> all() {
        return Set.copyOf(asked.keySet());
    }

    synchronized List<HostProcess> of(String host) {
        return asked.keySet().stream()
                .filter(process -> process.host().equals(host))
                .sorted()
                .toList();
    }

    synchronized boolean contains(HostProcess process) {
        return asked.containsKey(process);
    }

    /** Those that were asked so short a while ago that they count as gone. */
    synchronized Set<HostProcess> justAsked() {
        var freed = killAfter == null ? COUNTS_AS_FREED : killAfter.plus(TAKING_APART);
        return asked.entrySet().stream()
                .filter(entry -> ticker.since(entry.getValue().askedAt).compareTo(freed) < 0)
                .map(Map.Entry::getKey)
                .collect(Collectors.toUnmodifiableSet());
    }

    /** A process was sent its signal. */
    synchronized void signalled(PlannedAction planned, Action.Terminate action) {
        var known = asked.get(action.target());
        if (action.signal() == Signal.KILL && known != null) {
            known.killedAt = ticker.mark();
            known.last = planned;
        } else {
            asked.put(action.target(), new Asked(planned, ticker.mark()));
        }
    }

    /**
     * A process may have been sent its signal: whether it was, nobody told. It is left alone as if it was, for a second
     * SIGTERM makes many a trainer abort; but nothing worse comes of it, and if it goes on it is asked again.
     */
    synchronized void perhapsSignalled(PlannedAction planned, Action.Terminate action) {
        if (!asked.containsKey(action.target())) {
            var one = new Asked(planned, ticker.mark());
            one.unsure = true;
            asked.put(action.target(), one);
        }
    }

    /** Nobody sees those of hosts that left the list, and after a while they are forgotten. */
    synchronized void keepOnly(Set<String> hosts) {
        asked.entrySet().removeIf(entry -> {
            if (hosts.contains(entry.getKey().host())) {
                return false;
            }
            entry.getValue().unseen = true;
            return ticker.since(entry.getValue().askedAt).compareTo(FORGOTTEN) > 0;
        });
    }

    /** Takes out those that have ended; what had been done to each comes back. */
    synchronized List<PlannedAction> ended(HostReport host) {
        var ended = new ArrayList<PlannedAction>();
        for (var process : host.ended()) {
            var known = asked.remove(new HostProcess(host.host(), process));
            if (known != null) {
                ended.add(known.last);
            }
        }
        return ended;
    }

    /** What is to be done about one that was asked. */
    enum Next {
        NOTHING,
        KILL,
        /** It was killed long ago and is still there. */
        UNKILLABLE
    }

    /**
     * Takes in how a process that was asked behaves.
     *
     * @param breaks the violations for which it would be ended now
     * @param sure whether the look was complete: only then does it break no rule where none is seen
     */
    synchronized Next next(HostProcess process, Collection<Violation> breaks, boolean sure) {
        var known = asked.get(process);
        if (known == null) {
            return Next.NOTHING;
        }
        if (breaks.isEmpty()) {
            if (!sure) {
                known.unseen = true;
            } else if (known.compliesFor(ticker, killAfter).compareTo(compliancePeriod) >= 0) {
                asked.remove(process);
            }
            return Next.NOTHING;
        }
        known.breaks(ticker, killAfter);
        if (known.unsure) {
            if (known.brokenFor.compareTo(killAfter == null ? COUNTS_AS_FREED : killAfter) >= 0) {
                asked.remove(process); // and so it is asked
            }
            return Next.NOTHING;
        }
        if (known.killedAt != null) {
            return ticker.since(known.killedAt).compareTo(TAKING_APART) >= 0 ? Next.UNKILLABLE : Next.NOTHING;
        }
        return killAfter != null && known.brokenFor.compareTo(killAfter) >= 0 ? Next.KILL : Next.NOTHING;
    }

    /** For which violations a process was asked. */
    synchronized Set<Violation.Key> causesOf(HostProcess process) {
        return Optional.ofNullable(asked.get(process)).stream()
                .flatMap(known -> known.last.causes().stream())
                .map(Violation::key)
                .collect(Collectors.toUnmodifiableSet());
    }

    /** One of them. */
    private static final class Asked {
        private final long askedAt;
        private PlannedAction last;
        private @Nullable Long killedAt;

        /** Whether nobody told that it was asked. */
        private boolean unsure;

        /** For how long it went on breaking rules; the time after a look in which it broke none does not count. */
        private Duration brokenFor = Duration.ZERO;

        private @Nullable Long brokenSince;
        private @Nullable Long quietSince;

        /** Whether some look since it was last seen was not complete. */
        private boolean unseen;

        Asked(PlannedAction planned, long now) {
            last = planned;
            askedAt = now;
            brokenSince = now;
        }

        void breaks(Ticker ticker, @Nullable Duration killAfter) {
            countTimeSinceItBroke(ticker, unseen ? killAfter : null);
            brokenSince = ticker.mark();
            quietSince = null;
            unseen = false;
        }

        /** It breaks no rule now. When it stopped is not known, so the time since the last observation counts. */
        Duration compliesFor(Ticker ticker, @Nullable Duration killAfter) {
            countTimeSinceItBroke(ticker, killAfter);
            brokenSince = null;
            unseen = false;
            if (quietSince == null) {
                quietSince = ticker.mark();
            }
            return ticker.since(quietSince);
        }

        /** Time in which it was not observed counts for at most half of what would kill it. */
        private void countTimeSinceItBroke(Ticker ticker, @Nullable Duration halved) {
            if (brokenSince != null) {
                var more = ticker.since(brokenSince);
                var most = halved == null ? more : halved.dividedBy(2);
                brokenFor = brokenFor.plus(more.compareTo(most) > 0 ? most : more);
            }
        }
    }
}

package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.HostProblem;
import dev.genv.enforcer.policy.PlannedAction;
import dev.genv.enforcer.policy.Signal;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Lets only so many processes of a host be asked to end in one cycle. The users of a host take turns, so that the processes
 * of one user do not delay those of another. A user's subordinate uids count as the user's own; all processes of unknown
 * uids are one group. Within a user, the process that waits longest comes first, so that a user cannot hide it behind new
 * ones; a process that could not be signalled before comes last.
 */
final class Brake {
    private static final Duration REMEMBERED = Duration.ofHours(1);

    private final int most;
    private final Ticker ticker;
    private final Map<HostProcess, Wait> waiting = new HashMap<>();

    /** When a process of each user was last asked. */
    private final Map<User, Long> served = new HashMap<>();

    /** A user of a host; the uid is null for all processes of unknown uids. */
    private record User(String host, @Nullable Long uid) {}

    /**
     * What is remembered of one that is to be ended.
     *
     * @param user whose it was when it last was
     * @param first when it first was
     * @param last when it last was
     * @param failures how often it could not be asked
     */
    private record Wait(User user, long first, long last, int failures) {
        Wait again(User user, long now) {
            return new Wait(user, first, now, failures);
        }

        Wait failed() {
            return new Wait(user, first, last, failures + 1);
        }
    }

    /** A brake for so many a host and cycle; 0 for any number. */
    Brake(int most, Ticker ticker) {
        this.most = most;
        this.ticker = ticker;
    }

    /**
     * Those that must wait for the next cycle. Whoever is killed was counted when he was asked.
     *
     * @param subordinateUids those of each host, by its name; without an entry where they are not known
     */
    Set<PlannedAction> heldBack(List<PlannedAction> due, Map<String, SubordinateUids> subordinateUids) {
        var now = ticker.mark();
        var byHost = new LinkedHashMap<String, Map<User, List<Candidate>>>();
        for (var planned : due) {
            if (planned.action() instanceof Action.Terminate terminate && terminate.signal() == Signal.TERM) {
                var host = terminate.host();
                var uids = subordinateUids.getOrDefault(host, SubordinateUids.NONE);
                var user = new User(host, uids.ownerOf(terminate.process().uid()));
                var wait = waiting.merge(
                        terminate.target(), new Wait(user, now, now, 0), (known, _) -> known.again(user, now));
                byHost.computeIfAbsent(host, _ -> new LinkedHashMap<>())
                        .computeIfAbsent(user, _ -> new ArrayList<>())
                        .add(new Candidate(planned, wait));
            }
        }
        waiting.values().removeIf(wait -> ticker.since(wait.last).compareTo(REMEMBERED) > 0);
        served.values().removeIf(at -> ticker.since(at).compareTo(REMEMBERED) > 0);
        var heldBack = new HashSet<PlannedAction>();
        for (var ofHost : byHost.values()) {
            if (most > 0) {
                inTurn(ofHost).stream().skip(most).forEach(candidate -> heldBack.add(candidate.planned));
            }
        }
        return heldBack;
    }

    /** One of each user, then a second one of each, and so on. */
    private List<Candidate> inTurn(Map<User, List<Candidate>> byUser) {
        var turns = byUser.entrySet().stream()
                .sorted(Comparator.<Map.Entry<User, List<Candidate>>>comparingLong(
                                entry -> waitsSince(entry.getKey(), entry.getValue()))
                        .thenComparing(entry -> served.containsKey(entry.getKey())))
                .map(entry -> entry.getValue().stream().sorted(Candidate.ORDER).iterator())
                .collect(Collectors.toCollection(ArrayDeque::new));
        var inTurn = new ArrayList<Candidate>();
        while (!turns.isEmpty()) {
            var turn = turns.removeFirst();
            inTurn.add(turn.next());
            if (turn.hasNext()) {
                turns.addLast(turn);
            }
        }
        return inTurn;
    }

    /** Since the user's first process waits, or since the last one got a signal. So new users cannot overtake for ever. */
    private long waitsSince(User user, List<Candidate> candidates) {
        var first = candidates.stream()
                .mapToLong(candidate -> candidate.waiting.first)
                .min()
                .orElseThrow();
        return Math.max(first, served.getOrDefault(user, first));
    }

    Result reason() {
        return new Result(Outcome.SKIPPED_LIMIT, "no more than %d in one cycle: it waits for the next".formatted(most));
    }

    /** Takes in what came of it. */
    void note(Map<PlannedAction, Result> results) {
        results.forEach((planned, result) -> {
            if (planned.action() instanceof Action.Terminate terminate
                    && !result.outcome().isSkipped()) {
                waiting.computeIfPresent(terminate.target(), (_, wait) -> {
                    if (terminate.signal() == Signal.TERM) {
                        served.put(wait.user, ticker.mark());
                    }
                    return result.outcome().isFailure() ? wait.failed() : null;
                });
            }
        });
    }

    /** What people must know of those that wait. */
    List<HostProblem> problems(Set<PlannedAction> heldBack) {
        var byHost = new LinkedHashMap<String, Integer>();
        heldBack.forEach(planned -> byHost.merge(planned.action().host(), 1, Integer::sum));
        return byHost.entrySet().stream()
                .map(entry -> new HostProblem(
                        entry.getKey(),
                        new Problem(
                                "brake_reached",
                                "%d processes are to be ended, but no more than %d a cycle are: %d wait"
                                        .formatted(most + entry.getValue(), most, entry.getValue()))))
                .toList();
    }

    private record Candidate(PlannedAction planned, Wait waiting) {
        static final Comparator<Candidate> ORDER = Comparator.<Candidate>comparingInt(
                        candidate -> candidate.waiting.failures)
                .thenComparingLong(candidate -> candidate.waiting.first);
    }
}

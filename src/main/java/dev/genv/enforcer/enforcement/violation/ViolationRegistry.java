package dev.genv.enforcer.enforcement.violation;

import dev.genv.enforcer.enforcement.action.ActionRecord;
import dev.genv.enforcer.enforcement.history.state.StateChange;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.definition.RuleMode;
import dev.genv.enforcer.policy.definition.RuleScope;
import dev.genv.enforcer.policy.plan.Plan;
import dev.genv.enforcer.policy.plan.Violation;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Records violations. An active one is kept as long as cycles find it; the memory of the others is bounded. */
public final class ViolationRegistry {
    /** A limit, because a detachment may fail differently in every cycle. */
    static final int MAX_ACTIONS = 100;

    private static final Comparator<ViolationRecord> NEWEST_FIRST = Comparator.comparingLong(
                    (ViolationRecord entry) -> entry.recency().number())
            .reversed();

    private final Map<Violation.Key, ViolationRecord> active = new LinkedHashMap<>();
    private final AbsentViolations absent = new AbsentViolations(ResolvedViolations.MAX_BYTES);
    private final ResolvedViolations resolved;
    private long appearances;
    private Instant latest = Instant.MIN;

    public ViolationRegistry(int maxResolved) {
        resolved = new ResolvedViolations(maxResolved, ResolvedViolations.MAX_BYTES);
    }

    /**
     * What a cycle added to the registry.
     *
     * @param actions the actions that are not repetitions
     * @param notes the same actions, once for each violation that caused them
     */
    public record Update(
            List<ViolationRecord> appeared,
            List<ActionRecord> actions,
            List<NotedAction> notes,
            List<ViolationRecord> resolved) {}

    /**
     * An action that was recorded with a violation.
     *
     * @param violation the violation after the action
     */
    public record NotedAction(ViolationRecord violation, ViolationRecord.ActionNote note) {}

    /**
     * The result of a cycle besides its plan.
     *
     * @param actions the actions of the cycle, and the late results of earlier ones
     * @param changes the state changes on which violations rest
     * @param ended the processes that a host reports as exited
     * @param at when the cycle observed the hosts
     * @param next the actions that follow on violations if nothing changes, the earliest first
     */
    public record CycleOutcome(
            List<ActionRecord> actions,
            Map<Violation.Key, StateChange> changes,
            Set<HostProcess> ended,
            Instant at,
            Map<Violation.Key, List<NextAction>> next) {
        /** The result of a cycle after which no action follows. */
        public CycleOutcome(
                List<ActionRecord> actions,
                Map<Violation.Key, StateChange> changes,
                Set<HostProcess> ended,
                Instant at) {
            this(actions, changes, ended, at, Map.of());
        }

        private List<NextAction> next(Violation.Key violation) {
            return next.getOrDefault(violation, List.of()).stream()
                    .limit(MAX_ACTIONS)
                    .toList();
        }
    }

    /**
     * Records a cycle.
     *
     * @param modes the mode of each rule
     * @param fleet the observed hosts: a violation is resolved only if it would have been found in them
     */
    public synchronized Update update(
            Plan plan, CycleOutcome cycleOutcome, Function<RuleDefinition, RuleMode> modes, Fleet fleet) {
        var now = cycleOutcome.at();
        latest = now.isAfter(latest) ? now : latest;
        var appeared = new ArrayList<ViolationRecord>();
        var seen = new LinkedHashMap<Violation.Key, ViolationRecord>();
        for (var found : plan.violations()) {
            var mode = modes.apply(found.rule());
            var known = active.get(found.key());
            var violation = known == null ? found : found.alsoOn(unseenHosts(known.violation(), fleet));
            var entry = known == null
                    ? ViolationRecord.begin(violation, mode, now, new ViolationRecord.Recency(++appearances, latest))
                    : known.seenAgain(violation, mode, now, latest);
            entry = entry.withStateChange(cycleOutcome.changes().get(violation.key()))
                    .withNext(cycleOutcome.next(violation.key()));
            if (known == null) {
                appeared.add(entry);
            }
            seen.put(violation.key(), entry);
        }
        var over = new ArrayList<Violation.Key>();
        var notFound = new LinkedHashMap<Violation.Key, ViolationRecord>();
        active.forEach((key, entry) -> {
            if (!seen.containsKey(key)) {
                if (AbsentViolations.isResolved(entry.violation(), cycleOutcome.ended(), fleet)) {
                    over.add(key);
                } else {
                    notFound.put(key, entry.withNext(List.of()));
                }
            }
        });
        over.addAll(absent.record(notFound));
        active.putAll(notFound);
        active.putAll(seen);
        // Before violations are resolved, so that the exit of a process is recorded with the violation that it
        // resolves.
        var recorded = recordActions(cycleOutcome.actions(), modes);
        var ended = over.stream()
                .flatMap(key -> Stream.ofNullable(active.remove(key)))
                .map(ViolationRecord::resolved)
                .toList();
        ended.forEach(resolved::add);
        return new Update(appeared, recorded.actions(), recorded.notes(), ended);
    }

    /** Returns the processes for which the hosts verify in the next cycle whether they have exited. */
    public synchronized Set<HostProcess> processesToVerify() {
        return absent.processesToVerify();
    }

    /** The keys of the active violations. */
    public synchronized Set<Violation.Key> active() {
        return Set.copyOf(active.keySet());
    }

    public synchronized Optional<ViolationRecord> find(String id) {
        return entries().filter(entry -> entry.id().equals(id)).findFirst();
    }

    /** The entries that match, newest first. */
    public synchronized List<ViolationRecord> find(Predicate<ViolationRecord> which, int limit) {
        return entries().filter(which).sorted(NEWEST_FIRST).limit(limit).toList();
    }

    private Stream<ViolationRecord> entries() {
        return Stream.concat(active.values().stream(), resolved.stream());
    }

    /** The hosts that were part of the violation and could not be observed. */
    private static Set<String> unseenHosts(Violation before, Fleet fleet) {
        return before.rule().scope() != RuleScope.FLEET
                ? Set.of()
                : fleet.snapshots().stream()
                        .filter(snapshot -> before.hosts().contains(snapshot.host()))
                        .filter(snapshot -> !Collections.disjoint(snapshot.missing(), before.requiredParts()))
                        .map(Snapshot::host)
                        .collect(Collectors.toUnmodifiableSet());
    }

    private record RecordedActions(List<ActionRecord> actions, List<NotedAction> notes) {}

    /** Records the actions with the violations that caused them; repetitions are left out. */
    private RecordedActions recordActions(List<ActionRecord> records, Function<RuleDefinition, RuleMode> modes) {
        var actions = new ArrayList<ActionRecord>();
        var notes = new ArrayList<NotedAction>();
        for (var each : records) {
            var noted = each.planned().causes().stream()
                    .flatMap(cause -> recordAction(each, cause, modes.apply(cause.rule())).stream())
                    .toList();
            notes.addAll(noted);
            if (!noted.isEmpty()) {
                actions.add(each);
            }
        }
        return new RecordedActions(actions, notes);
    }

    private Optional<NotedAction> recordAction(ActionRecord each, Violation cause, RuleMode mode) {
        var entry = active.get(cause.key());
        if (entry == null) {
            return each.result().outcome() == Outcome.EXITED ? recordLateExit(each, cause) : Optional.empty();
        }
        var done = mode == RuleMode.ENFORCE || each.result().outcome().isSkipped()
                ? each.result()
                : new Result(Outcome.SKIPPED_AUDIT, "executed for another rule; this one only audits");
        var note = ViolationRecord.ActionNote.of(each.planned().action(), done, each.at());
        var last = entry.actions().reversed().stream()
                .filter(earlier -> earlier.target().equals(note.target()))
                .findFirst();
        if (!note.outcome().hasEffect() && last.isPresent() && last.get().repeats(note)) {
            return Optional.empty();
        }
        var noted = new NotedAction(entry.with(added(entry, note)), note);
        active.put(cause.key(), noted.violation());
        return Optional.of(noted);
    }

    /** A process may release its device before it exits, so its exit may come after the violation was resolved. */
    private Optional<NotedAction> recordLateExit(ActionRecord each, Violation cause) {
        var note = ViolationRecord.ActionNote.of(each.planned().action(), each.result(), each.at());
        return resolved.remove(cause.key()).map(over -> {
            var noted = new NotedAction(over.with(added(over, note)), note);
            resolved.add(noted.violation());
            return noted;
        });
    }

    private static List<ViolationRecord.ActionNote> added(ViolationRecord entry, ViolationRecord.ActionNote note) {
        var actions = new ArrayList<>(entry.actions());
        actions.add(note);
        return actions.subList(Math.max(0, actions.size() - MAX_ACTIONS), actions.size());
    }
}

package dev.genv.enforcer.enforcement.report;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.report.Event.EventContent;
import dev.genv.enforcer.enforcement.report.SavedState.SavedCycle;
import dev.genv.enforcer.enforcement.report.ViolationRecord.ActionNote;
import dev.genv.enforcer.enforcement.report.ViolationRecord.NextAction;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Violation;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** Remembers violations. An active one is kept as long as cycles find it; the memory of the others is bounded. */
public final class ViolationRegistry {
    /** The largest number of actions of a violation, because a detachment may fail differently in every cycle. */
    static final int MAX_ACTIONS = 100;

    /** Enough for ten thousand entries with texts of genv's usual length. */
    static final long MAX_SIZE = 10L << 20;

    private static final Comparator<ViolationRecord> NEWEST_FIRST = Comparator.comparingLong(
                    (ViolationRecord entry) -> entry.recency().number())
            .reversed();

    private final Map<Violation.Key, ViolationRecord> active = new LinkedHashMap<>();
    private final AbsentViolations absent = new AbsentViolations(MAX_SIZE);
    /** The latest resolved violations. Users influence their number and their texts, so both are bounded. */
    private final Share.Entries<ViolationRecord> resolved;

    private long appearances;
    private Instant latest = Instant.MIN;
    private int cycles;
    private Fleet observed = new Fleet(List.of(), true);
    /** What the last cycle found. */
    private Set<Violation.Key> found = Set.of();

    private volatile List<ViolationRecord> visible = List.of();

    public ViolationRegistry(int maxResolved) {
        resolved =
                new Share.Entries<>(maxResolved, MAX_SIZE, entry -> Share.of(entry.violation()), ViolationRecord::size);
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
            List<EventContent.ActionRecorded> notes,
            List<ViolationRecord> resolved) {}

    /**
     * Remembers a cycle. Readers see it after {@link #publish}, so that it can be stored before.
     *
     * @param fleet the observed hosts: a violation is resolved only if it would have been found in them
     * @param actions the actions of the cycle, and the late results of earlier ones
     * @param next the actions that follow on violations if nothing changes, the earliest first
     * @param modes the mode of each rule
     */
    public synchronized Update remember(
            Plan plan,
            Fleet fleet,
            List<ActionRecord> actions,
            Map<Violation.Key, List<NextAction>> next,
            Function<RuleDefinition, RuleMode> modes) {
        var now = fleet.at();
        var ended = fleet.ended();
        latest = now.isAfter(latest) ? now : latest;
        cycles++;
        var appeared = new ArrayList<ViolationRecord>();
        var seen = new LinkedHashMap<Violation.Key, ViolationRecord>();
        for (var found : plan.violations()) {
            var mode = modes.apply(found.rule());
            var known = active.get(found.key());
            var violation =
                    known == null ? found : found.alsoOn(AbsentViolations.unseenHosts(known.violation(), fleet));
            var following = next.getOrDefault(violation.key(), List.of()).stream()
                    .limit(MAX_ACTIONS)
                    .toList();
            var entry = known == null
                    ? ViolationRecord.begin(
                            violation, mode, now, new ViolationRecord.Recency(++appearances, latest), following)
                    : known.continued(1, violation, mode, now, latest, following);
            if (known == null) {
                appeared.add(entry);
            }
            seen.put(violation.key(), entry);
        }
        var over = new ArrayList<Violation.Key>();
        var notFound = new LinkedHashMap<Violation.Key, ViolationRecord>();
        active.forEach((key, entry) -> {
            if (!seen.containsKey(key)) {
                if (AbsentViolations.isResolved(entry.violation(), ended, fleet)) {
                    over.add(key);
                } else {
                    notFound.put(key, entry.notFound(false));
                }
            }
        });
        over.addAll(absent.remember(notFound));
        active.putAll(notFound);
        active.putAll(seen);
        found = Set.copyOf(seen.keySet());
        // Before violations are resolved, so that the exit of a process is recorded with the violation that it
        // resolves.
        var notes = new ArrayList<EventContent.ActionRecorded>();
        var news = new ArrayList<ActionRecord>();
        for (var action : actions) {
            var noted = note(action, modes);
            notes.addAll(noted);
            if (!noted.isEmpty()) {
                news.add(action);
            }
        }
        var resolvedNow = over.stream()
                .flatMap(key -> Stream.ofNullable(active.remove(key)))
                .map(entry -> entry.notFound(true))
                .toList();
        resolvedNow.forEach(resolved::add);
        active.replaceAll((_, entry) -> entry.named(fleet));
        resolved.stream().toList().forEach(entry -> {
            var named = entry.named(fleet);
            if (!named.equals(entry)) {
                resolved.remove(entry);
                resolved.add(named);
            }
        });
        observed = fleet;
        return new Update(appeared, news, notes, resolvedNow);
    }

    /** Notes an action at the violations that caused it, and returns it for each of them; repetitions are left out. */
    private List<EventContent.ActionRecorded> note(ActionRecord action, Function<RuleDefinition, RuleMode> modes) {
        return action.planned().causes().stream()
                .flatMap(cause -> note(action, cause, modes.apply(cause.rule())).stream())
                .toList();
    }

    private Optional<EventContent.ActionRecorded> note(ActionRecord action, Violation cause, RuleMode mode) {
        var entry = active.get(cause.key());
        if (entry == null) {
            return action.result().outcome() == Outcome.EXITED ? noteLateExit(action, cause) : Optional.empty();
        }
        var result = mode == RuleMode.ENFORCE || action.result().outcome().isSkipped()
                ? action.result()
                : new Result(Outcome.SKIPPED_AUDIT, "executed for another rule; this one only audits");
        var note = ActionNote.of(action.planned().action(), result, action.at());
        var last = entry.actions().reversed().stream()
                .filter(earlier -> earlier.target().equals(note.target()))
                .findFirst();
        if (!note.outcome().hasEffect() && last.isPresent() && last.get().repeats(note)) {
            return Optional.empty();
        }
        var noted = entry.with(note);
        active.put(cause.key(), noted);
        return Optional.of(new EventContent.ActionRecorded(noted, note));
    }

    /** A process may release its device before it exits, so its exit may come after the violation was resolved. */
    private Optional<EventContent.ActionRecorded> noteLateExit(ActionRecord action, Violation cause) {
        var newest = resolved.stream()
                .filter(entry -> entry.violation().key().equals(cause.key()))
                .min(NEWEST_FIRST);
        return newest.map(over -> {
            resolved.remove(over);
            var note = ActionNote.of(action.planned().action(), action.result(), action.at());
            var noted = over.with(note);
            resolved.add(noted);
            return new EventContent.ActionRecorded(noted, note);
        });
    }

    /** Shows to readers what is remembered. */
    public synchronized void publish() {
        visible = entries().toList();
    }

    /** Returns what another run of the service continues with. */
    public synchronized Saved save() {
        var violations = active.values().stream()
                .map(entry -> new StoredViolation(
                        entry, found.contains(entry.violation().key())))
                .toList();
        var fleet = observed;
        return new Saved(
                cycles,
                appearances,
                latest,
                violations,
                (host, uid) ->
                        fleet.host(host).flatMap(its -> its.details().accounts().firstNameOf(uid)));
    }

    /**
     * Continues what earlier runs stored, and returns the violations that are over.
     *
     * @param areOver whether no active violation continues, because its processes have exited
     */
    public synchronized List<ViolationRecord> restore(
            List<ViolationRecord> lastActive, List<ViolationRecord> lastResolved, SavedCycle last, boolean areOver) {
        cycles = last.cycles();
        appearances = last.appearances();
        latest = last.latest();
        lastResolved.forEach(resolved::add);
        var over =
                areOver ? lastActive.stream().map(entry -> entry.notFound(true)).toList() : List.<ViolationRecord>of();
        over.forEach(resolved::add);
        if (!areOver) {
            lastActive.stream()
                    .sorted(NEWEST_FIRST.reversed())
                    .forEach(entry -> active.put(entry.violation().key(), entry));
            found = Set.copyOf(active.keySet());
        }
        publish();
        return over;
    }

    /** Returns the violations that are not active. */
    public synchronized List<Violation> unknown(List<Violation> violations) {
        return violations.stream()
                .filter(violation -> !active.containsKey(violation.key()))
                .toList();
    }

    /** Returns the processes for which the hosts verify in the next cycle whether they have exited. */
    public synchronized Set<HostProcess> processesToVerify() {
        return absent.processesToVerify();
    }

    public synchronized Set<Violation.Key> active() {
        return Set.copyOf(active.keySet());
    }

    public Optional<ViolationRecord> find(String id) {
        return visible.stream().filter(entry -> entry.id().equals(id)).findFirst();
    }

    /** The entries that match, newest first. */
    public List<ViolationRecord> find(Predicate<ViolationRecord> which, int limit) {
        return visible.stream().filter(which).sorted(NEWEST_FIRST).limit(limit).toList();
    }

    private Stream<ViolationRecord> entries() {
        return Stream.concat(active.values().stream(), resolved.stream());
    }

    /**
     * What another run of the service continues with.
     *
     * @param appearances the number of violations that ever appeared
     * @param latest the latest time at which any violation was observed
     * @param names the names of the accounts that are known
     */
    public record Saved(
            int cycles, long appearances, Instant latest, List<StoredViolation> active, AccountNames names) {}

    /** Returns the name of the account of a uid on a host; empty if it is not known. */
    @FunctionalInterface
    public interface AccountNames {
        Optional<String> find(String host, long uid);
    }

    /** An active violation, and whether the last cycle found it. */
    public record StoredViolation(ViolationRecord entry, boolean isFound) {}
}

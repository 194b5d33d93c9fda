package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.RuleMode;
import dev.genv.enforcer.policy.RuleName;
import dev.genv.enforcer.policy.Violation;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Remembers violations. An active one is kept as long as cycles find it; the others are bounded. */
public final class Journal {
    /** A detachment that fails in a new way every cycle must not fill the memory. */
    static final int MOST_ACTIONS = 100;

    private static final Comparator<JournalEntry> NEWEST_FIRST = Comparator.comparingLong(
                    (JournalEntry entry) -> entry.recency().number())
            .reversed();

    private final Map<Violation.Key, JournalEntry> active = new LinkedHashMap<>();
    private final AbsentViolations absent = new AbsentViolations(ResolvedViolations.MOST_BYTES);
    private final ResolvedViolations resolved;
    private long appearances;
    private Instant latest = Instant.MIN;

    public Journal(int mostResolved) {
        resolved = new ResolvedViolations(mostResolved, ResolvedViolations.MOST_BYTES);
    }

    /** What a cycle added: what nobody has been told of yet. */
    public record Update(List<JournalEntry> appeared, List<ActionRecord> actions, List<JournalEntry> resolved) {}

    /**
     * What a cycle adds to what its plan says.
     *
     * @param actions what was done, and what came of earlier actions
     * @param changes what somebody changed in the state, without which there would be no such violation
     * @param ended the processes of which a host reports that they have ended
     * @param at when the cycle looked
     */
    public record News(
            List<ActionRecord> actions, Map<Violation.Key, Change> changes, Set<HostProcess> ended, Instant at) {}

    /**
     * Takes in what a cycle saw and did.
     *
     * @param modes what is done about the violations of a rule
     * @param fleet what was seen: only what would have been found in it can be over
     */
    public synchronized Update update(Plan plan, News news, Function<RuleName, RuleMode> modes, Fleet fleet) {
        var now = news.at();
        latest = now.isAfter(latest) ? now : latest;
        var appeared = new ArrayList<JournalEntry>();
        var seen = new LinkedHashMap<Violation.Key, JournalEntry>();
        for (var found : plan.violations()) {
            var mode = modes.apply(found.rule());
            var known = active.get(found.key());
            var violation = known == null ? found : found.alsoOn(unseenHosts(known.violation(), fleet));
            var entry = known == null ? begin(violation, mode, now) : known.seenAgain(violation, mode, now, latest);
            entry = entry.changedBy(news.changes().get(violation.key()));
            if (known == null) {
                appeared.add(entry);
            }
            seen.put(violation.key(), entry);
        }
        var over = new ArrayList<Violation.Key>();
        var notFound = new LinkedHashMap<Violation.Key, JournalEntry>();
        active.forEach((key, entry) -> {
            if (!seen.containsKey(key)) {
                if (AbsentViolations.isOver(entry.violation(), news.ended(), fleet)) {
                    over.add(key);
                } else {
                    notFound.put(key, entry);
                }
            }
        });
        over.addAll(absent.record(notFound));
        active.putAll(seen);
        // Before anything is over: a process that has ended is told with the violation that ends with it.
        var told = note(news.actions(), modes);
        var ended = over.stream()
                .flatMap(key -> Stream.ofNullable(active.remove(key)))
                .map(JournalEntry::resolved)
                .toList();
        ended.forEach(resolved::add);
        return new Update(appeared, told, ended);
    }

    /** The processes of which the hosts must report in the next cycle whether they have ended. */
    public synchronized Set<HostProcess> processesToVerify() {
        return absent.processesToVerify();
    }

    /** The keys of the violations that go on. */
    public synchronized Set<Violation.Key> active() {
        return Set.copyOf(active.keySet());
    }

    public synchronized Optional<JournalEntry> find(String id) {
        return entries().filter(entry -> entry.id().equals(id)).findFirst();
    }

    /** The entries that match, newest first. */
    public synchronized List<JournalEntry> find(Predicate<JournalEntry> which, int limit) {
        return entries().filter(which).sorted(NEWEST_FIRST).limit(limit).toList();
    }

    private Stream<JournalEntry> entries() {
        return Stream.concat(active.values().stream(), resolved.stream());
    }

    /** Those that had a part in it and may still have: nobody could look. */
    private static Set<String> unseenHosts(Violation before, Fleet fleet) {
        return before.rule() != RuleName.MAX_DEVICES_PER_USER
                ? Set.of()
                : fleet.snapshots().stream()
                        .filter(snapshot -> before.hosts().contains(snapshot.host()))
                        .filter(snapshot -> !Collections.disjoint(snapshot.missing(), before.shownBy()))
                        .map(Snapshot::host)
                        .collect(Collectors.toUnmodifiableSet());
    }

    private JournalEntry begin(Violation violation, RuleMode mode, Instant now) {
        return new JournalEntry(
                UUID.randomUUID().toString(),
                violation,
                mode,
                true,
                now,
                now,
                1,
                List.of(),
                null,
                new JournalEntry.Recency(++appearances, latest));
    }

    /** Writes the actions down with the violations that caused them; what only repeats itself is left out. */
    private List<ActionRecord> note(List<ActionRecord> records, Function<RuleName, RuleMode> modes) {
        var news = new ArrayList<ActionRecord>();
        for (var each : records) {
            var isNew = false;
            for (var cause : each.planned().causes()) {
                isNew |= note(each, cause, modes.apply(cause.rule()));
            }
            if (isNew) {
                news.add(each);
            }
        }
        return news;
    }

    private boolean note(ActionRecord each, Violation cause, RuleMode mode) {
        var entry = active.get(cause.key());
        if (entry == null) {
            return each.result().outcome() == Outcome.EXITED && noteLate(each, cause);
        }
        var done = mode == RuleMode.ENFORCE || each.result().outcome().isSkipped()
                ? each.result()
                : new Result(Outcome.SKIPPED_AUDIT, "done for another rule; this one only audits");
        var note = note(each.planned().action(), done, each.at());
        var last = entry.actions().reversed().stream()
                .filter(earlier -> sameTarget(earlier, note))
                .findFirst();
        if (!note.outcome().isDeed() && last.isPresent() && last.get().repeats(note)) {
            return false;
        }
        active.put(cause.key(), entry.with(added(entry, note)));
        return true;
    }

    /** A process may take longer to end than to let go of its device, and then the violation is over before. */
    private boolean noteLate(ActionRecord each, Violation cause) {
        var entry = resolved.remove(cause.key());
        entry.ifPresent(over ->
                resolved.add(over.with(added(over, note(each.planned().action(), each.result(), each.at())))));
        return entry.isPresent();
    }

    private static List<JournalEntry.ActionNote> added(JournalEntry entry, JournalEntry.ActionNote note) {
        var actions = new ArrayList<>(entry.actions());
        actions.add(note);
        return actions.subList(Math.max(0, actions.size() - MOST_ACTIONS), actions.size());
    }

    private static boolean sameTarget(JournalEntry.ActionNote one, JournalEntry.ActionNote other) {
        return one.type().equals(other.type())
                && Objects.equals(one.pid(), other.pid())
                && Objects.equals(one.environment(), other.environment())
                && Objects.equals(one.device(), other.device());
    }

    private static JournalEntry.ActionNote note(Action action, Result result, Instant at) {
        return switch (action) {
            case Action.Terminate(var host, var process, var signal) ->
                new JournalEntry.ActionNote(
                        "terminate",
                        process.pid(),
                        result.outcome().isSkipped() ? null : signal.name(),
                        null,
                        null,
                        at,
                        result.outcome(),
                        result.detail());
            case Action.Detach(var host, var environment, var device, var attachment) ->
                new JournalEntry.ActionNote(
                        "detach", null, null, environment.eid(), device, at, result.outcome(), result.detail());
        };
    }
}

package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.HostFacts.AccountFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Accounts.Groups;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.observation.NameService.Pause;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * In which groups the users of one machine are, if a setting names a group. A directory that is out of reach looks like one without the group
 * or the user. So the number of a group that was found stays, and a user who was found in a group may be in it for a day after the last answer
 * with it. A user of whom nothing is known may be in each group. Times are in seconds since 1970.
 */
public final class GroupReader {
    /** How many groups, and how many users, are asked for in one observation. */
    private static final int MOST_ASKED = 32;

    /** After failures the pause is at most eight minutes. */
    private static final int MOST_DOUBLINGS = 3;

    /** Users can record any names. */
    private static final int MOST_KNOWN = 1_000;

    private static final long TICKS = 100;
    /** A change of the groups is known before the usual grace period is over. */
    private static final long AGAIN = 20;

    private static final long DAY = NameService.DAY / TICKS;

    private List<ConfiguredGroup> configured;
    private final Questions groups = new Questions();
    private final Questions users = new Questions();
    private final Pause pause = new Pause(MOST_DOUBLINGS);
    private final Map<String, Long> numbers = new HashMap<>();
    private final Map<String, Map<Long, Long>> memberships = new HashMap<>();
    private long now;

    /**
     * A group in a setting.
     *
     * @param group its name or its number
     * @param setting the variable
     */
    public record ConfiguredGroup(String group, String setting) {}

    /**
     * What was found, for another run of the service.
     *
     * @param numbers the groups by their names
     * @param memberships when each user was last found in each group, by the name of the user and the number of the group
     */
    public record KnownGroups(Map<String, Long> numbers, Map<String, Map<Long, Long>> memberships) {
        static final KnownGroups NONE = new KnownGroups(Map.of(), Map.of());

        public KnownGroups {
            numbers = Map.copyOf(numbers);
            memberships = Map.copyOf(memberships);
        }
    }

    GroupReader(List<ConfiguredGroup> configured) {
        this.configured = configured;
    }

    /** Takes over the groups of other settings. */
    void configure(List<ConfiguredGroup> others) {
        configured = others;
    }

    /** Whom it asks for, and when it did so last. */
    private static final class Questions {
        private final Map<String, Long> askedAt = new HashMap<>();
        private List<String> asked = List.of();

        /** Returns what to ask for now. */
        List<String> next(Collection<String> names, long now) {
            askedAt.keySet().retainAll(Set.copyOf(names));
            asked = names.stream()
                    .filter(name -> Math.abs(now - askedAt.getOrDefault(name, -DAY)) >= AGAIN)
                    .sorted(Comparator.comparingLong(name -> askedAt.getOrDefault(name, -DAY)))
                    .limit(MOST_ASKED)
                    .toList();
            return asked;
        }

        /** Takes over the answers, and returns the last failure of the name service. */
        <T> Optional<String> learn(List<Reading<T>> readings, long now, BiConsumer<String, T> found) {
            if (readings.size() != asked.size()) {
                throw new IllegalArgumentException("not everything that was asked for is in it");
            }
            var failed = Optional.<String>empty();
            for (var i = 0; i < asked.size(); i++) {
                switch (readings.get(i)) {
                    case Reading.Value<T>(var value) -> found.accept(asked.get(i), value);
                    case Reading.Failed<T>(var failure, var _)
                    when failure == Failure.NO_TIME -> {
                        continue;
                    }
                    case Reading.Failed<T>(var failure, var _) when failure == Failure.ABSENT -> {}
                    case Reading.Failed<T>(var _, var reason) -> failed = Optional.of(reason);
                }
                askedAt.put(asked.get(i), now);
            }
            asked = List.of();
            return failed;
        }
    }

    /** Takes over the answers to what was asked. Reports a failure until there is an answer again. */
    void learn(AccountFacts facts, long at, Findings findings) {
        if (at < now) { // the clock was set back
            pause.restart(at * TICKS);
        }
        now = at;
        if (!groups.asked.isEmpty() || !users.asked.isEmpty()) {
            var ofGroups = groups.learn(facts.groups(), now, (group, number) -> numbers.put(group, number));
            var ofUsers = users.learn(facts.memberships(), now, (user, theirs) -> {
                if (theirs.isEmpty()) { // every user has a primary group
                    return;
                }
                var all = memberships.computeIfAbsent(user, _ -> new HashMap<>());
                all.values().removeIf(last -> now - last >= DAY);
                theirs.forEach(number -> all.put(number, now));
            });
            pause.remember(ofGroups.or(() -> ofUsers), now * TICKS);
        }
        pause.report(findings);
    }

    /** Returns the groups of which the name service is to be asked. */
    List<String> nextGroups() {
        var names = configured.stream()
                .map(ConfiguredGroup::group)
                .filter(group -> Accounts.numberIn(group).isEmpty())
                .distinct();
        return groups.next(pause.isOver(now * TICKS) ? names.toList() : List.of(), now);
    }

    /**
     * Returns the users whose groups are asked for.
     *
     * @param present names and uids, the most reliable first
     */
    List<String> nextUsers(List<String> present, Accounts accounts) {
        if (configured.isEmpty()) {
            return List.of();
        }
        var names = present.stream()
                .flatMap(user -> Accounts.numberIn(user)
                        .map(uid -> accounts.namesOf(uid).stream())
                        .orElseGet(() -> Stream.of(user)
                                .filter(name -> accounts.uidOf(name).isPresent())))
                .map(accounts::nameOf)
                .filter(name ->
                        NameService.canBeAsked(name) && Accounts.numberIn(name).isEmpty())
                .distinct()
                .limit(MOST_KNOWN)
                .toList();
        var isFull = memberships.size() > MOST_KNOWN;
        var those = Set.copyOf(names);
        memberships
                .entrySet()
                .removeIf(user -> !those.contains(user.getKey())
                        && (isFull || now - Collections.max(user.getValue().values()) >= DAY));
        return users.next(pause.isOver(now * TICKS) ? names : List.of(), now);
    }

    /** Returns what is known, and reports the groups that are not found. */
    Groups resolve(Findings findings) {
        var all = new HashMap<String, Optional<Long>>();
        for (var each : configured) {
            var number = Accounts.numberIn(each.group).or(() -> Optional.ofNullable(numbers.get(each.group)));
            all.put(each.group, number);
            if (number.isEmpty()) {
                findings.add(
                        ProblemCode.SETTING_USER_UNKNOWN,
                        "group %s of %s is the name of no group that is known of this host, so its rule does nothing to users who may be in it: correct the name, or give the number (gid)"
                                .formatted(each.group, each.setting));
            }
        }
        return new Groups(
                all,
                memberships.entrySet().stream()
                        .collect(Collectors.toMap(Map.Entry::getKey, user -> groups(user.getValue(), true))),
                memberships.entrySet().stream()
                        .collect(Collectors.toMap(Map.Entry::getKey, user -> groups(user.getValue(), false))));
    }

    /** Returns the groups of the last answer, or those of earlier ones. */
    private static Set<Long> groups(Map<Long, Long> lastFound, boolean areOfLastAnswer) {
        var last = lastFound.values().stream().max(Comparator.naturalOrder());
        return lastFound.entrySet().stream()
                .filter(group -> last.filter(group.getValue()::equals).isPresent() == areOfLastAnswer)
                .map(Map.Entry::getKey)
                .collect(Collectors.toUnmodifiableSet());
    }

    /** Returns what was found, to continue in another run of the service. */
    KnownGroups found() {
        return new KnownGroups(numbers, memberships);
    }

    /** Continues with what was found in the last day; it is asked for again. */
    void restore(KnownGroups known, long at) {
        known.numbers.forEach(numbers::putIfAbsent);
        known.memberships.forEach((user, theirs) -> {
            var latest = new HashMap<>(theirs);
            latest.values().removeIf(last -> at - last >= DAY);
            latest.replaceAll((_, last) -> Math.min(last, at)); // the clock was set back
            if (!latest.isEmpty()) {
                memberships.putIfAbsent(user, latest);
            }
        });
    }
}

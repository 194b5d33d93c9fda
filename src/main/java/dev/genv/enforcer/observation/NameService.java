package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.linux.PasswdFile;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.ProblemCode;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The accounts that the name service of a machine (NSS) knows besides passwd(5), such as those of LDAP. It is asked for some of them in each
 * observation, and its answers are kept: it may be slow, and users can record any names. A directory that is out of reach looks like one
 * without the account. So an account that was found stays known for a day in which it is not found. Times are in clock ticks since boot.
 */
public final class NameService {
    static final int MOST_ASKED = 32;
    static final long MINUTE = 100 * 60;
    static final long HOUR = 60 * MINUTE;
    static final long DAY = 24 * HOUR;
    /** Accounts that were not found. The directory bounds the number of the others. */
    static final int MOST_UNKNOWN = 1_000;

    private static final int MOST_DOUBLINGS = 6;
    private static final long TICKS_PER_SECOND = 100;

    /** A uid, or a name that is no option of getent(1), no number, and the same bytes in every locale. */
    private static final Pattern KEY =
            Pattern.compile("[0-9]{1,10}|(?![0-9]+$)[A-Za-z0-9_.][A-Za-z0-9_.@\\\\$+ -]{0,255}");

    /** By name or uid, what was asked longest ago first. */
    private final Map<String, Answer> answers = new LinkedHashMap<>();

    private final Pause pause = new Pause(MOST_DOUBLINGS);
    /** Names whose answer is known only if each is asked by itself. */
    private final Set<String> alone = new LinkedHashSet<>();
    /** Whether the last call was for one of these. */
    private boolean wasAlone;

    private Map<String, Found> restored = Map.of();
    private Map<String, Long> accounts = Map.of();
    private int most = MOST_ASKED;
    /** How many more may be asked for in the next call. */
    private int room;

    private long now;

    /**
     * An account that a name service found.
     *
     * @param at when, by the wall clock, in seconds since 1970
     */
    public record Found(long uid, long at) {}

    /**
     * @param uids by name; empty if the account is unknown
     * @param foundAt when they were found; since when the account is unknown
     * @param at the same by the wall clock
     */
    private record Answer(long askedAt, Map<String, Long> uids, long foundAt, long at) {}

    /** When a name service is asked again after failures: a minute later at first, after each further one twice as late. */
    static final class Pause {
        private final int mostDoublings;
        private int failures;
        private long failedAt;
        private String problem = "";

        Pause(int mostDoublings) {
            this.mostDoublings = mostDoublings;
        }

        /** @param failure why there was no answer, as a clause; empty if there was one */
        void remember(Optional<String> failure, long now) {
            failures = failure.isEmpty() ? 0 : failures + 1;
            failedAt = now;
            problem = failure.map("the name service of this host does not answer: "::concat)
                    .orElse("");
        }

        /** Begins again, because the clock does. */
        void restart(long now) {
            failedAt = now;
        }

        boolean isOver(long now) {
            return failures == 0 || now - failedAt >= Math.min(MINUTE << Math.min(failures - 1, mostDoublings), HOUR);
        }

        void report(Findings findings) {
            if (!problem.isEmpty()
                    && findings.problems().stream()
                            .noneMatch(other -> other.detail().equals(problem))) {
                findings.add(ProblemCode.PASSWD_UNREADABLE, problem);
            }
        }
    }

    static boolean canBeAsked(String user) {
        return KEY.matcher(user).matches();
    }

    /**
     * Takes over the answer to what was asked. Reports a failure until there is an answer again.
     *
     * @param all the names and uids for which it was asked; at most {@link #MOST_ASKED} count
     */
    void learn(List<String> all, Reading<Bytes> reading, long ticks, long at, Findings findings) {
        var asked = all.stream().limit(MOST_ASKED).toList();
        if (ticks < now) { // the host was started again
            answers.replaceAll((_, answer) -> new Answer(ticks, answer.uids, ticks, answer.at));
            pause.restart(ticks);
        }
        now = ticks;
        wasAlone = asked.size() == 1 && alone.contains(asked.getFirst());
        restored.forEach((name, its) -> {
            var age = (at - its.at) * TICKS_PER_SECOND;
            answers.putIfAbsent(name, new Answer(now - HOUR, Map.of(name, its.uid), now - age, its.at));
        });
        restored = Map.of();
        switch (reading) {
            case Reading.Value<Bytes>(var lines) -> {
                learn(asked, lines.text(), at);
                pause.remember(Optional.empty(), now);
                most = Math.min(2 * most, MOST_ASKED);
            }
            case Reading.Failed<Bytes>(var failure, var _) when failure == Failure.SKIPPED -> {}
            case Reading.Failed<Bytes>(var failure, var reason) -> {
                asked.forEach(key -> remember(key, Map.of(), at, false));
                pause.remember(Optional.of(reason).filter(_ -> failure != Failure.ABSENT), now);
                most = Math.max(most / 2, 1); // so many may need too long
            }
        }
        accounts = new HashMap<>();
        answers.values().forEach(answer -> accounts.putAll(answer.uids));
        pause.report(findings);
    }

    /**
     * Attributes accounts to the names and uids of a call, in which each that is found has a line. A directory can answer in another form:
     * {@code alice} for {@code ALICE}, {@code CORP\alice} or {@code alice@corp}. A line that nothing asked names, or one too many, may be the
     * answer for any name without one, so that proves nothing, and these are asked again by themselves.
     */
    private void learn(List<String> asked, String lines, long at) {
        var found = PasswdFile.uidsByName(lines);
        var isClear = asked.size() == 1
                || PasswdFile.countAccounts(lines)
                        <= asked.stream()
                                .filter(key -> found.entrySet().stream().anyMatch(account -> isNamed(account, key)))
                                .count();
        for (var key : asked) {
            var uids = new HashMap<>(found);
            if (asked.size() > 1 || !isName(key)) {
                uids.entrySet().removeIf(account -> !isNamed(account, key));
            }
            if (!uids.isEmpty() || isClear || !isName(key)) {
                alone.remove(key);
                remember(key, uids.size() > 1 && isName(key) ? Map.of() : uids, at, true);
            } else if (alone.size() < MOST_ASKED) {
                alone.add(key);
            }
        }
    }

    private static boolean isName(String key) {
        return !key.matches("[0-9]+");
    }

    private static boolean isNamed(Map.Entry<String, Long> account, String key) {
        return key.equals(isName(key) ? account.getKey() : account.getValue().toString());
    }

    private void remember(String key, Map<String, Long> uids, long at, boolean isAnswer) {
        var former = answers.remove(key);
        if (uids.isEmpty() && former != null && !former.uids.isEmpty() && (!isAnswer || age(former.foundAt) < DAY)) {
            answers.put(key, new Answer(now, former.uids, isAnswer ? former.foundAt : now, former.at));
        } else {
            var since = uids.isEmpty() && former != null && former.uids.isEmpty() ? former.foundAt : now;
            answers.put(key, new Answer(now, uids, since, at));
        }
        var unknown = answers.entrySet().stream()
                .filter(answer -> answer.getValue().uids.isEmpty())
                .map(Map.Entry::getKey)
                .toList();
        if (unknown.size() > MOST_UNKNOWN) {
            answers.remove(unknown.getFirst());
        }
    }

    /** Returns the uids of the accounts by their names. */
    Map<String, Long> accounts() {
        return accounts;
    }

    /** Returns the names of the accounts by the other spellings under which they were found. */
    Map<String, String> spellings() {
        var spellings = new HashMap<String, String>();
        answers.forEach((key, answer) -> {
            if (!answer.uids.containsKey(key) && isName(key)) {
                answer.uids.keySet().forEach(name -> spellings.put(key, name));
            }
        });
        return spellings;
    }

    /** Returns the accounts that were found, at most so many, to continue in another run of the service. */
    Map<String, Found> found(int most) {
        var found = new HashMap<String, Found>();
        for (var answer : List.copyOf(answers.values()).reversed()) {
            answer.uids.forEach((name, uid) -> {
                if (found.size() < most) {
                    found.putIfAbsent(name, new Found(uid, answer.at));
                }
            });
        }
        return found;
    }

    /** Continues with accounts that were found before; each is asked for again. */
    void restore(Map<String, Found> found) {
        restored = found;
    }

    /**
     * Returns what to ask now: users that were not asked for before, or not found a minute ago, or found an hour ago. Those that were found
     * come first. Every other call is for a name that has to be asked by itself. After a failure nothing is asked for a minute, after further
     * ones for up to an hour.
     */
    List<String> next(Collection<String> users, Accounts local) {
        var isOver = pause.isOver(now);
        alone.retainAll(Set.copyOf(users));
        var single = alone.stream().filter(this::isDue).findFirst();
        if (isOver && single.isPresent() && !wasAlone) {
            room = 0;
            return List.of(single.get());
        }
        List<String> asked = isOver
                ? Stream.concat(users.stream(), unknownUids())
                        .distinct()
                        .filter(user -> canBeAsked(user) && !alone.contains(user) && isDue(user) && !isIn(local, user))
                        .sorted(Comparator.comparingInt(this::rank))
                        .limit(most)
                        .toList()
                : List.of();
        room = isOver ? most - asked.size() : 0;
        return asked;
    }

    /** Returns the uids that were unknown within the last hour: a message about a process that has ended waits for its user's name. */
    private Stream<String> unknownUids() {
        return answers.entrySet().stream()
                .filter(answer -> answer.getValue().uids.isEmpty() && age(answer.getValue().foundAt) < HOUR)
                .map(Map.Entry::getKey)
                .filter(user -> Accounts.numberIn(user).isPresent());
    }

    /** Returns of how many users besides those of {@link #next} it may be asked. */
    int room() {
        return room;
    }

    /** Returns the uids that the next observation does not ask for itself: those that it was asked for, and these. */
    Set<Long> knownUids(Collection<String> users) {
        var known = answers.keySet().stream().filter(user -> !isDue(user));
        return Stream.concat(users.stream().limit(MOST_UNKNOWN), known)
                .filter(user -> Accounts.numberIn(user).isPresent())
                .map(Long::valueOf)
                .collect(Collectors.toUnmodifiableSet());
    }

    private boolean isDue(String user) {
        var answer = answers.get(user);
        return answer == null || age(answer.askedAt) >= (answer.uids.isEmpty() ? MINUTE : HOUR);
    }

    private int rank(String user) {
        var answer = answers.get(user);
        return answer == null ? 2 : answer.uids.isEmpty() ? 3 : 1;
    }

    private static boolean isIn(Accounts local, String user) {
        var uid = Accounts.numberIn(user);
        return uid.isPresent()
                ? !local.namesOf(uid.get()).isEmpty()
                : local.uidOf(user).isPresent();
    }

    private long age(long time) {
        return now - time;
    }
}

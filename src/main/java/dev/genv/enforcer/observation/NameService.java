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
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The accounts that the name service of a machine (NSS) knows besides passwd(5), such as those of LDAP. It is asked for some of them in each
 * observation, and its answers are kept: it may be slow, and users can record any names. A directory that is out of reach looks like one
 * without the account. So an account that was found stays known for a day in which it is not found, and one of the settings for good. Times
 * are in clock ticks since boot.
 */
final class NameService {
    static final int MOST_ASKED = 32;
    static final long MINUTE = 100 * 60;
    static final long HOUR = 60 * MINUTE;
    static final long DAY = 24 * HOUR;
    /** Accounts that were not found. The directory bounds the number of the others. */
    static final int MOST_UNKNOWN = 1_000;

    private static final int MOST_DOUBLINGS = 6;

    /** A uid, or a name that is no option of getent(1), no number, and the same bytes in every locale. */
    private static final Pattern KEY =
            Pattern.compile("[0-9]{1,10}|(?![0-9]+$)[A-Za-z0-9_.][A-Za-z0-9_.@\\\\$+ -]{0,255}");

    private static final Pattern UID = Pattern.compile("[0-9]+");

    private final Set<String> configured;
    /** By name or uid, what was asked longest ago first. */
    private final Map<String, Answer> answers = new LinkedHashMap<>();

    private Map<String, Long> accounts = Map.of();
    private int most = MOST_ASKED;
    /** How many more may be asked for in the next call. */
    private int room;

    private int failures;
    private String problem = "";
    private long failedAt;
    private long now;

    /**
     * @param uids by name; empty if the account is unknown
     * @param foundAt when they were found; since when the account is unknown
     */
    private record Answer(long askedAt, Map<String, Long> uids, long foundAt) {}

    /** @param configured the names in the settings */
    NameService(Collection<String> configured) {
        this.configured = new LinkedHashSet<>(configured);
    }

    /**
     * Takes over the answer to what was asked. Reports a failure until there is an answer again.
     *
     * @param all the names and uids for which it was asked; at most {@link #MOST_ASKED} count
     */
    void learn(List<String> all, Reading<Bytes> reading, long ticks, Findings findings) {
        var asked = all.stream().limit(MOST_ASKED).toList();
        if (ticks < now) { // the host was started again
            answers.replaceAll((_, answer) -> new Answer(ticks, answer.uids, ticks));
            failedAt = ticks;
        }
        now = ticks;
        switch (reading) {
            case Reading.Value<Bytes>(var lines) -> {
                var found = PasswdFile.uidsByName(lines.text());
                asked.forEach(key -> record(key, found, true));
                failures = 0;
                problem = "";
                most = Math.min(2 * most, MOST_ASKED);
            }
            case Reading.Failed<Bytes>(var failure, var _) when failure == Failure.SKIPPED -> {}
            case Reading.Failed<Bytes>(var failure, var reason) -> {
                asked.forEach(key -> record(key, Map.of(), false));
                failures++;
                failedAt = now;
                most = Math.max(most / 2, 1); // so many may need too long
                problem = failure == Failure.ABSENT ? "" : "the name service of this host does not answer: " + reason;
            }
        }
        accounts = new HashMap<>();
        answers.values().forEach(answer -> accounts.putAll(answer.uids));
        if (!problem.isEmpty()) {
            findings.add(ProblemCode.PASSWD_UNREADABLE, problem);
        }
    }

    private void record(String key, Map<String, Long> found, boolean isAnswer) {
        var former = answers.remove(key);
        var uids = new HashMap<>(found);
        uids.entrySet()
                .removeIf(account -> !key.equals(account.getKey())
                        && !key.equals(account.getValue().toString()));
        if (uids.isEmpty() && former != null && !former.uids.isEmpty() && (!isAnswer || isKept(key, former))) {
            answers.put(key, new Answer(now, former.uids, isAnswer ? former.foundAt : now));
        } else {
            var isStillUnknown = uids.isEmpty() && former != null && former.uids.isEmpty();
            answers.put(key, new Answer(now, uids, isStillUnknown ? former.foundAt : now));
        }
        var unknown = answers.entrySet().stream()
                .filter(answer -> answer.getValue().uids.isEmpty())
                .map(Map.Entry::getKey)
                .toList();
        if (unknown.size() > MOST_UNKNOWN) {
            answers.remove(unknown.getFirst());
        }
    }

    private boolean isKept(String key, Answer former) {
        return configured.contains(key) || age(former.foundAt) < DAY;
    }

    /** Whether it does not answer, and a user of the settings is known neither by it nor here. */
    boolean hidesUsers(Accounts local) {
        return !problem.isEmpty()
                && configured.stream().anyMatch(user -> !isIn(local, user) && !accounts.containsKey(user));
    }

    /** Returns the uids of the accounts by their names. */
    Map<String, Long> accounts() {
        return accounts;
    }

    /**
     * Returns what to ask now: users that were not asked for before, or not found a minute ago, or found an hour ago. Those of the settings
     * come first, and are asked for until they are found; then those that were found. After a failure nothing is asked for a minute, after
     * further ones for up to an hour.
     */
    List<String> next(Collection<String> users, Accounts local) {
        var isPaused = failures > 0 && age(failedAt) < Math.min(MINUTE << Math.min(failures - 1, MOST_DOUBLINGS), HOUR);
        List<String> asked = isPaused
                ? List.of()
                : Stream.of(configured.stream(), users.stream(), unknownUids())
                        .flatMap(Function.identity())
                        .distinct()
                        .filter(user -> KEY.matcher(user).matches() && isDue(user) && !isIn(local, user))
                        .sorted(Comparator.comparingInt(this::rank))
                        .limit(most)
                        .toList();
        room = isPaused ? 0 : most - asked.size();
        return asked;
    }

    /** Returns the uids that were unknown within the last hour: a message about a process that has ended waits for its user's name. */
    private Stream<String> unknownUids() {
        return answers.entrySet().stream()
                .filter(answer -> answer.getValue().uids.isEmpty() && age(answer.getValue().foundAt) < HOUR)
                .map(Map.Entry::getKey)
                .filter(user -> UID.matcher(user).matches());
    }

    /** Returns of how many users besides those of {@link #next} it may be asked. */
    int room() {
        return room;
    }

    /** Returns the uids that the next observation does not ask for itself: those that it was asked for, and these. */
    Set<Long> knownUids(Collection<String> users) {
        var known = answers.keySet().stream().filter(user -> !isDue(user));
        return Stream.concat(users.stream().limit(MOST_UNKNOWN), known)
                .filter(user -> UID.matcher(user).matches())
                .map(Long::valueOf)
                .collect(Collectors.toUnmodifiableSet());
    }

    private boolean isDue(String user) {
        var answer = answers.get(user);
        return answer == null
                || age(answer.askedAt) >= (answer.uids.isEmpty() ? MINUTE : HOUR)
                || (answer.uids.isEmpty() && configured.contains(user));
    }

    private int rank(String user) {
        var answer = answers.get(user);
        return configured.contains(user) ? 0 : answer == null ? 2 : answer.uids.isEmpty() ? 3 : 1;
    }

    private static boolean isIn(Accounts local, String user) {
        return UID.matcher(user).matches()
                ? !local.namesOf(Long.parseLong(user)).isEmpty()
                : local.uidOf(user).isPresent();
    }

    private long age(long time) {
        return now - time;
    }
}

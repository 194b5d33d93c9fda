package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.linux.PasswdFile;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.ProblemCode;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * The accounts that the name service of a machine (NSS) knows besides passwd(5), such as those of LDAP. It is asked for some of them in each
 * observation, and its answers are kept: it may be slow, and users can record any names. A directory that is out of reach looks like one
 * without the account. So an account that is not found is only unknown; after an answer in which nothing is found, former accounts stay for
 * a day. Times are in clock ticks since boot.
 */
final class NameService {
    static final int MOST_ASKED = 32;
    static final long MINUTE = 100 * 60;
    static final long HOUR = 60 * MINUTE;
    static final long DAY = 24 * HOUR;
    private static final int MOST_KNOWN = 10_000;
    private static final int MOST_DOUBLINGS = 6;

    /** A uid, or a name that is no option of getent(1), no number, and the same bytes in every locale. */
    private static final Pattern KEY = Pattern.compile("[0-9]{1,10}|[A-Za-z0-9_.][A-Za-z0-9_.@\\\\$+ -]{0,255}");

    private static final Pattern UID = Pattern.compile("[0-9]+");

    /** By name or uid, what was asked longest ago first. */
    private final Map<String, Answer> answers = new LinkedHashMap<>();

    private Map<String, Long> accounts = Map.of();
    private List<String> asked = List.of();
    private int most = MOST_ASKED;
    private int failures;
    private String problem = "";
    private long failedAt;
    private long now;

    /**
     * @param uids by name; empty if the account is unknown
     * @param foundAt when they were found
     */
    private record Answer(long askedAt, Map<String, Long> uids, long foundAt) {}

    /** Takes over the answer to what was asked. Reports a failure until there is an answer again. */
    void learn(Reading<Bytes> reading, long ticks, Findings findings) {
        now = ticks;
        switch (reading) {
            case Reading.Value<Bytes>(var lines) -> {
                var found = PasswdFile.uidsByName(lines.text());
                asked.forEach(key -> record(key, found));
                failures = 0;
                problem = "";
                most = Math.min(2 * most, MOST_ASKED);
            }
            case Reading.Failed<Bytes>(var failure, var _) when failure == Failure.SKIPPED -> {}
            case Reading.Failed<Bytes>(var failure, var reason) -> {
                asked.forEach(key -> record(key, Map.of()));
                failures++;
                failedAt = now;
                most = Math.max(most / 2, 1); // so many may need too long
                problem = failure == Failure.ABSENT ? "" : "the name service of this host does not answer: " + reason;
            }
        }
        asked = List.of();
        answers.values().removeIf(answer -> !answer.uids.isEmpty() && age(answer.foundAt) >= DAY);
        accounts = new HashMap<>();
        answers.values().forEach(answer -> accounts.putAll(answer.uids));
        if (!problem.isEmpty()) {
            findings.add(ProblemCode.PASSWD_UNREADABLE, problem);
        }
    }

    private void record(String key, Map<String, Long> found) {
        var former = answers.remove(key);
        var uids = new HashMap<>(found);
        uids.entrySet()
                .removeIf(account -> !key.equals(account.getKey())
                        && !key.equals(account.getValue().toString()));
        answers.put(
                key,
                former != null && found.isEmpty()
                        ? new Answer(now, former.uids, former.foundAt)
                        : new Answer(now, uids, now));
        if (answers.size() > MOST_KNOWN) {
            answers.remove(answers.keySet().iterator().next());
        }
    }

    /** Returns the uids of the accounts by their names. */
    Map<String, Long> accounts() {
        return accounts;
    }

    /**
     * Returns what to ask now, in this order: users that were not asked for before, or not found a minute ago, or found an hour ago. After a
     * failure nothing is asked for a minute, after further ones for up to an hour.
     */
    List<String> next(Collection<String> users, Accounts local) {
        var isPaused = failures > 0 && age(failedAt) < Math.min(MINUTE << Math.min(failures - 1, MOST_DOUBLINGS), HOUR);
        asked = isPaused
                ? List.of()
                : users.stream()
                        .distinct()
                        .filter(user -> KEY.matcher(user).matches() && isDue(user) && !isIn(local, user))
                        .limit(most)
                        .toList();
        return asked;
    }

    private boolean isDue(String user) {
        var answer = answers.get(user);
        return answer == null || age(answer.askedAt) >= (answer.uids.isEmpty() ? MINUTE : HOUR);
    }

    private static boolean isIn(Accounts local, String user) {
        return UID.matcher(user).matches()
                ? !local.namesOf(Long.parseLong(user)).isEmpty()
                : local.uidOf(user).isPresent();
    }

    /** After a reboot the clock begins again. */
    private long age(long time) {
        return Math.abs(now - time);
    }
}

package dev.genv.enforcer.linux;

import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.SubordinateUids;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Parses passwd(5), and its companion subuid(5). */
public final class PasswdFile {
    /** A name, a password, a uid. A name that begins with a sign includes accounts of a directory service. */
    private static final Pattern ACCOUNT = Pattern.compile("([^:+-][^:]{0,255}):[^:]*:([0-9]{1,10}):.*");

    private static final long HIGHEST_UID = 0xFFFF_FFFEL;

    private PasswdFile() {}

    /** Skips lines that are no accounts, and uses the first line of each name, both like getpwnam(3). */
    public static Accounts parse(String text) {
        return new Accounts(uidsByName(text));
    }

    /** The same as a map from the names to the uids. */
    public static Map<String, Long> uidsByName(String text) {
        var uids = new HashMap<String, Long>();
        text.lines().map(ACCOUNT::matcher).filter(line -> line.matches()).forEach(line -> {
            var uid = Long.parseLong(line.group(2));
            if (uid <= HIGHEST_UID) {
                uids.putIfAbsent(line.group(1), uid);
            }
        });
        return uids;
    }

    /** Returns the number of lines that are accounts, which may be of the same one. */
    public static long countAccounts(String text) {
        return text.lines().filter(line -> ACCOUNT.matcher(line).matches()).count();
    }

    /** Parses group(5). */
    public static final class GroupFile {
        private GroupFile() {}

        /** Returns the numbers of the groups by their names; the first line of each name counts. */
        public static Map<String, Long> numbers(String text) {
            return lines(text)
                    .collect(Collectors.toMap(group -> group[0], group -> Long.valueOf(group[2]), (first, _) -> first));
        }

        /** Returns the numbers of all groups of a user, the primary one first; empty if passwd(5) has no such user. */
        public static Optional<List<Long>> ofUser(String user, String passwd, String text) {
            return lines(passwd)
                    .filter(account -> account[0].equals(user) && account[3].matches("[0-9]{1,10}"))
                    .findFirst()
                    .map(account -> Stream.concat(
                                    Stream.of(account[3]),
                                    lines(text)
                                            .filter(group ->
                                                    List.of(group[3].split(",")).contains(user))
                                            .map(group -> group[2]))
                            .map(Long::valueOf)
                            .distinct()
                            .toList());
        }

        /** Returns the fields of the lines that have a number, and of no line that includes others of a directory service. */
        private static Stream<String[]> lines(String text) {
            return text.lines()
                    .map(line -> line.split(":", -1))
                    .filter(line -> line.length > 3 && line[0].matches("[^+-].*") && line[2].matches("[0-9]{1,10}"));
        }
    }

    public record SubuidFile(List<Entry> entries) {
        public static final SubuidFile EMPTY = new SubuidFile(List.of());

        /** A user's name or uid, the first subordinate uid, and their number. */
        private static final Pattern LINE = Pattern.compile("([^:]{1,256}):([0-9]{1,10}):([0-9]{1,10})");

        public record Entry(String user, long first, long count) {}

        public static SubuidFile parse(String text) {
            return new SubuidFile(text.lines()
                    .map(LINE::matcher)
                    .filter(Matcher::matches)
                    .map(line -> new Entry(line.group(1), Long.parseLong(line.group(2)), Long.parseLong(line.group(3))))
                    .toList());
        }

        /** Returns the ranges of the users whose uids are known. */
        public SubordinateUids of(Accounts accounts) {
            return new SubordinateUids(entries.stream()
                    .flatMap(
                            entry -> accounts
                                    .find(entry.user)
                                    .map(uid -> new SubordinateUids.Range(uid, entry.first, entry.count))
                                    .stream())
                    .toList());
        }
    }
}

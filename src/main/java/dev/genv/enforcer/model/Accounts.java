package dev.genv.enforcer.model;

import java.util.Comparator;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The accounts of a machine that are known. Not all users of a directory service are, so a missing user proves nothing. */
public final class Accounts {
    public static final Accounts NONE = new Accounts(Map.of());

    /** The largest 32-bit number is no uid: the kernel uses it for none. */
    private static final long HIGHEST_UID = 0xFFFF_FFFEL;

    private static final Pattern UID = Pattern.compile("\\+?([0-9]{1,10})");

    private final Map<String, Long> uids;
    private final Map<Long, Set<String>> names;
    /** The names of accounts by other spellings of them, under which a directory that ignores the case found them. */
    private final Map<String, String> spellings;
    /** The users in the settings with their uids; empty for one who is not found, and of whom that proves nothing. */
    private final Map<String, Optional<Long>> configured;

    private final Groups groups;

    public Accounts(Map<String, Long> uids) {
        this(uids, Map.of());
    }

    private Accounts(Map<String, Long> uids, Map<String, String> spellings) {
        this.uids = Map.copyOf(uids);
        var byUid = new HashMap<Long, Set<String>>();
        // Nearly all uids have one name, and a fleet has thousands of these maps.
        this.uids.forEach((name, uid) -> byUid.merge(uid, Set.of(name), Accounts::both));
        names = Map.copyOf(byUid);
        this.spellings = Map.copyOf(spellings);
        configured = Map.of();
        groups = Groups.NONE;
    }

    private Accounts(Accounts accounts, Map<String, Optional<Long>> configured, Groups groups) {
        uids = accounts.uids;
        names = accounts.names;
        spellings = accounts.spellings;
        this.configured = Map.copyOf(configured);
        this.groups = groups;
    }

    /** Whether a process or an environment is a user's. */
    public enum Match {
        YES,
        NO,
        UNKNOWN;

        /** Returns yes if one of them is, and no if none is. */
        public static Match any(Stream<Match> all) {
            var found = all.collect(Collectors.toSet());
            return found.contains(YES) ? YES : found.contains(UNKNOWN) ? UNKNOWN : NO;
        }
    }

    /**
     * Returns these accounts and others, without those whose names are also among these.
     *
     * @param others with the spellings of their names
     */
    public Accounts with(Map<String, Long> others, Map<String, String> spellings) {
        if (others.isEmpty()) {
            return this;
        }
        var all = new HashMap<>(others);
        all.putAll(uids);
        return new Accounts(all, spellings);
    }

    /** Returns these accounts with the users in the settings and their uids; empty for one who is not found. */
    public Accounts withConfigured(Map<String, Optional<Long>> users) {
        return new Accounts(this, users, groups);
    }

    public Accounts withGroups(Groups other) {
        return new Accounts(this, configured, other);
    }

    /** Whether it is known in which groups of the settings the account of this name is. */
    public boolean knowsGroupsOf(String name) {
        return groups.ofUsers.containsKey(nameOf(name));
    }

    /**
     * Whether a user is in a group, by all accounts of the uid: that of the name if there is such an account.
     *
     * @param group its name or its number
     * @param uid null if it is unknown
     */
    public Match isIn(String group, String user, @Nullable Long uid) {
        var names = uidOf(user)
                .or(() -> Optional.ofNullable(uid))
                .map(this::namesOf)
                .orElse(Set.of());
        return names.isEmpty() ? Match.UNKNOWN : Match.any(names.stream().map(name -> groups.match(group, name)));
    }

    /**
     * The groups of users, as far as settings name them.
     *
     * @param configured the numbers (gids) of the groups that settings name; empty for one that is not found, of which that proves nothing
     * @param ofUsers the numbers of the groups in which accounts are, by the names of the accounts; without those of whom it is unknown
     * @param earlier the same of groups that an earlier answer had and the last one has not
     */
    public record Groups(
            Map<String, Optional<Long>> configured, Map<String, Set<Long>> ofUsers, Map<String, Set<Long>> earlier) {
        public static final Groups NONE = new Groups(Map.of(), Map.of(), Map.of());

        public Groups {
            configured = Map.copyOf(configured);
            ofUsers = Map.copyOf(ofUsers);
            earlier = Map.copyOf(earlier);
        }

        private Match match(String group, String name) {
            var number = configured.containsKey(group) ? configured.get(group) : numberIn(group);
            var theirs = ofUsers.get(name);
            if (number == null || number.isEmpty() || theirs == null) {
                return Match.UNKNOWN;
            }
            return theirs.contains(number.get())
                    ? Match.YES
                    : earlier.getOrDefault(name, Set.of()).contains(number.get()) ? Match.UNKNOWN : Match.NO;
        }
    }

    public Optional<Long> uidOf(String name) {
        return Optional.ofNullable(uids.get(nameOf(name)));
    }

    /** Returns the name of the account that is found under this one; the same if none is. */
    public String nameOf(String name) {
        return uids.containsKey(name) ? name : spellings.getOrDefault(name, name);
    }

    /** Returns the uid of a user as chown(1) reads one: the account of that name, or else the number. A plus sign forces the number. */
    public Optional<Long> find(String user) {
        return uidOf(user).or(() -> numberIn(user));
    }

    /** Returns the uid that a text is, perhaps after a plus sign. */
    public static Optional<Long> numberIn(String text) {
        var uid = UID.matcher(text);
        return uid.matches()
                ? Optional.of(Long.valueOf(uid.group(1))).filter(number -> number <= HIGHEST_UID)
                : Optional.empty();
    }

    /** Whether a text is this uid, perhaps after a plus sign. */
    public static boolean isNumber(String text, long uid) {
        return numberIn(text).filter(number -> number == uid).isPresent();
    }

    /** Returns all names of a uid, because several accounts may share it; empty if the uid is unknown. */
    public Set<String> namesOf(long uid) {
        return names.getOrDefault(uid, Set.of());
    }

    /** Returns the first one of these names. */
    public Optional<String> firstNameOf(long uid) {
        return namesOf(uid).stream().min(Comparator.naturalOrder());
    }

    /**
     * Compares a uid with a user in a setting. A user who is not found may have every uid but root's and those of accounts with another name;
     * a number also the uid that it is.
     *
     * @param uid null if it is unknown
     */
    public Match match(String user, @Nullable Long uid) {
        var isConfigured = configured.containsKey(user);
        var known = isConfigured ? configured.getOrDefault(user, Optional.empty()) : find(user);
        if (known.isPresent()) {
            return uid == null ? Match.UNKNOWN : known.get().equals(uid) ? Match.YES : Match.NO;
        }
        if (!isConfigured) {
            return Match.NO;
        }
        if (uid != null && isNumber(user, uid)) {
            return Match.UNKNOWN;
        }
        if (uid != null && uid == 0) {
            return Match.NO;
        }
        var accounts = uid == null ? Set.<String>of() : namesOf(uid);
        return accounts.isEmpty()
                        || accounts.stream().anyMatch(name -> bare(name).equals(bare(user)))
                ? Match.UNKNOWN
                : Match.NO;
    }

    /** Whether two names may be spellings of one account: they differ at most in domain and case. */
    public static boolean haveSameName(String one, String other) {
        return bare(one).equals(bare(other));
    }

    /** Returns a name without its domain and its case: a directory may know an account under several spellings. */
    private static String bare(String name) {
        return name.replaceFirst(".*\\\\", "").replaceFirst("@.*", "").toLowerCase(Locale.ROOT);
    }

    private static Set<String> both(Set<String> some, Set<String> others) {
        return Stream.concat(some.stream(), others.stream()).collect(Collectors.toUnmodifiableSet());
    }
}

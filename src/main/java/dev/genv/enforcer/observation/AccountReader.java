package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.AccountFacts;
import dev.genv.enforcer.host.HostFacts.AccountFacts.TextFile;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.linux.PasswdFile;
import dev.genv.enforcer.linux.PasswdFile.SubuidFile;
import dev.genv.enforcer.linux.UidMap;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.User;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.model.Ternary;
import dev.genv.enforcer.observation.ConfiguredUsers.ConfiguredUser;
import dev.genv.enforcer.observation.GroupReader.ConfiguredGroup;
import dev.genv.enforcer.observation.GroupReader.KnownGroups;
import dev.genv.enforcer.observation.NameService.Found;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The accounts of a machine, by passwd(5) and its name service, and their subordinate uids, subuid(5). A file is parsed only if its version is
 * new.
 */
public final class AccountReader {
    private final ParsedFile<Accounts> passwd = new ParsedFile<>(PasswdFile::parse, Accounts.NONE);
    private final ParsedFile<SubuidFile> subuid = new ParsedFile<>(SubuidFile::parse, SubuidFile.EMPTY);

    private final NameService nameService = new NameService();
    private final ConfiguredUsers configured;
    private final GroupReader groups;
    /** Of both; it is large, and rarely changes. */
    private Accounts accounts = Accounts.NONE;

    private Accounts fromFile = Accounts.NONE;
    private Map<String, Long> fromService = Map.of();
    private Map<String, String> spellings = Map.of();
    private KnownAccounts earlier = KnownAccounts.NONE;

    /** Reads those of the users and groups whom settings name. */
    AccountReader(Collection<ConfiguredUser> configured, List<ConfiguredGroup> groups) {
        this.configured = new ConfiguredUsers(configured);
        this.groups = new GroupReader(groups);
    }

    /** Takes over the users and groups whom other settings name. */
    void configure(Collection<ConfiguredUser> users, List<ConfiguredGroup> others) {
        configured.configure(users);
        groups.configure(others);
    }

    /**
     * What the name service of a machine found, for another run of the service.
     *
     * @param machine the id of the machine; null if it is unknown
     * @param configured by the users in the settings
     * @param others by their names
     * @param groups null, as in the records of earlier versions, is none
     */
    public record KnownAccounts(
            @Nullable String machine,
            Map<String, Found> configured,
            Map<String, Found> others,
            @Nullable KnownGroups groups) {
        public static final KnownAccounts NONE = new KnownAccounts(null, Map.of(), Map.of(), null);
        /** Users record names, and the directory may have very many. */
        static final int MOST_OTHERS = 1_000;

        private static final long KEPT_SECONDS = 24 * 60 * 60;

        public KnownAccounts {
            configured = Map.copyOf(configured);
            others = Map.copyOf(others);
        }

        /** Returns those of this machine that were found in the last day. A time in the future counts as the present: the clock was set back. */
        KnownAccounts on(@Nullable String now, long at) {
            return machine == null || !machine.equals(now)
                    ? NONE
                    : new KnownAccounts(machine, latest(configured, at), latest(others, at), groups);
        }

        private static Map<String, Found> latest(Map<String, Found> found, long at) {
            var latest = new HashMap<String, Found>();
            found.forEach((user, its) -> {
                if (at - its.at() < KEPT_SECONDS) {
                    latest.put(user, new Found(its.uid(), Math.min(at, its.at())));
                }
            });
            return latest;
        }
    }

    record HostAccounts(Accounts accounts, SubordinateUids subordinateUids) {
        /**
         * Returns the uid of the account whose a process is. A real uid in a range of subordinate uids is the owner's if its user namespace
         * proves that, and otherwise a user's own if it has an account: uids of a directory service can lie in the ranges.
         *
         * @param uidMap {@code /proc/PID/uid_map}
         * @return null if it is unknown
         */
        @Nullable
        Long ownerOf(@Nullable Long uid, Reading<Bytes> uidMap) {
            if (uid == null || uid == 0) {
                return uid;
            }
            var rangeOwner = subordinateUids.rangeOwnerOf(uid);
            var map = uidMap instanceof Reading.Value<Bytes>(var content)
                    ? UidMap.tryParse(content.text())
                    : Optional.<UidMap>empty();
            if (map.isEmpty()) {
                return rangeOwner == null ? uid : null;
            }
            if (rangeOwner != null && map.get().provesOwner(rangeOwner, uid)) {
                return rangeOwner;
            }
            // A program with the set-user-ID bit keeps a subordinate uid in the first user namespace, and not every
            // range is known.
            return accounts.namesOf(uid).isEmpty()
                            && (rangeOwner != null || map.get().isOfUser(uid))
                    ? null
                    : uid;
        }

        /**
         * Returns an environment that records a subordinate uid as one of the owner of that, who would have a quota for each otherwise. If the
         * uid has an account, or processes do not show it, it is a user of its own. A name that is not the owner's disputes it.
         *
         * @param processes those on the GPUs
         */
        Environment withOwner(Environment environment, List<GpuProcess> processes) {
            var uid = environment.uid();
            var owner = subordinateUids.rangeOwnerOf(uid);
            if (uid == null || owner == null) {
                return environment;
            }
            var known = environment.inRangeOf(owner);
            if (!accounts.namesOf(uid).isEmpty()) {
                return known;
            }
            var shown = processes.stream()
                    .filter(process -> uid.equals(process.uid()))
                    .map(GpuProcess::owner)
                    .collect(Collectors.toSet());
            var isProven = shown.equals(Set.of(owner));
            if (environment.username() == null || environment.username().isEmpty()) {
                return shown.isEmpty() || isProven ? known.ownedBy(owner, accounts.firstNameOf(owner)) : known;
            }
            return isProven && !environment.ownership().isDisputed()
                    ? known.disputed("uid %d is a subordinate one of uid %d, not of user %s"
                            .formatted(uid, owner, environment.username()))
                    : known;
        }

        /**
         * Returns the user of a process by the uid of its owner: its account, or else the recorded name. Of several accounts it is the recorded
         * one, or else the first one by its name. In a container of root, or if that is unknown, only a subordinate uid shows whose process it is.
         */
        @Nullable
        User userOf(@Nullable Long owner, @Nullable Long uid, Workload workload, RecordedNames recorded) {
            if (owner == null || (owner.equals(uid) && workload.inContainerOfRoot() != Ternary.NO)) {
                return null;
            }
            var names = accounts.namesOf(owner);
            return recorded.find(owner)
                    .filter(names::contains)
                    .or(() -> accounts.firstNameOf(owner))
                    .map(name -> new User(name, User.Source.ACCOUNT))
                    .or(() -> recorded.find(owner).map(name -> new User(name, User.Source.RECORDED)))
                    .orElse(null);
        }
    }

    /**
     * Returns the present accounts; the last known ones, with a problem, if they cannot be read. A machine without subuid(5) has none.
     *
     * @param machine the id of the machine; null if it is unknown
     * @param ticks when they were read, in clock ticks since boot
     * @param at the same by the wall clock, in seconds since 1970
     */
    HostAccounts read(AccountFacts facts, @Nullable String machine, long ticks, long at, Findings findings) {
        passwd.read(facts.passwd(), "the accounts of this host cannot be read from /etc/passwd: ", findings);
        if (machine != null) {
            var known = earlier.on(machine, at);
            configured.restore(known.configured);
            nameService.restore(known.others);
            groups.restore(known.groups == null ? KnownGroups.NONE : known.groups, at);
            earlier = KnownAccounts.NONE;
        }
        configured.learn(facts.configured(), passwd.latest(), ticks, at, findings);
        nameService.learn(facts.asked(), facts.named(), ticks, at, findings);
        var spelled = nameService.spellings();
        if (fromFile != passwd.latest || !fromService.equals(nameService.accounts()) || !spelled.equals(spellings)) {
            fromFile = passwd.latest;
            fromService = nameService.accounts();
            spellings = spelled;
            accounts = fromFile.with(fromService, spellings);
        }
        groups.learn(facts, at, findings);
        accounts = configured.resolve(accounts, findings).withGroups(groups.resolve(findings));
        if (facts.subuid() instanceof Reading.Failed<TextFile>(var failure, var _)
                && failure == Reading.Failure.ABSENT) {
            return new HostAccounts(accounts, SubordinateUids.NONE);
        }
        subuid.read(facts.subuid(), "the subordinate uids of the users cannot be read from /etc/subuid: ", findings);
        return new HostAccounts(accounts, subuid.latest.of(accounts));
    }

    /** Returns those of these users, names or uids, of which the name service is to be asked. */
    List<String> unknown(Collection<String> users) {
        return nameService.next(users, passwd.latest);
    }

    /** Returns of how many more the name service may be asked in the same call. */
    int room() {
        return nameService.room();
    }

    /** Returns the uids of which it need not be asked besides, if these users were observed before. */
    Set<Long> knownUids(Collection<String> users) {
        return nameService.knownUids(users);
    }

    /** Returns the users of the settings of whom the name service is to be asked. */
    List<String> unknownConfigured() {
        return configured.next(passwd.latest);
    }

    /** Returns the groups of the settings of which the name service is to be asked. */
    List<String> unknownGroups() {
        return groups.nextGroups();
    }

    /** Returns those of these users, names or uids, whose groups are to be asked for. */
    List<String> unknownMembers(List<String> users) {
        return groups.nextUsers(users, accounts);
    }

    void restore(KnownAccounts known) {
        earlier = known;
    }

    /** Returns what the name service found. */
    KnownAccounts known(@Nullable String machine) {
        return new KnownAccounts(
                machine, configured.found(), nameService.found(KnownAccounts.MOST_OTHERS), groups.found());
    }

    /** Returns the names and uids of the users who have subordinate uids. */
    Stream<String> subordinateOwners() {
        return subuid.latest.entries().stream().map(SubuidFile.Entry::user);
    }

    /**
     * The user names that undisputed environments record for uids. A name is kept after the end of its environment, because processes may
     * outlive it.
     */
    static final class RecordedNames {
        private static final int MAX_NAMES = 10_000;

        private final Map<Long, String> names = new HashMap<>();

        /** Takes over the names of the active environments. A uid with several names has none. */
        void observe(Collection<Environment> environments) {
            var present = new HashMap<Long, Set<String>>();
            for (var environment : environments) {
                var uid = environment.uid();
                var name = environment.username();
                if (uid != null
                        && uid != 0
                        && name != null
                        && !name.isEmpty()
                        && !environment.ownership().isDisputed()) {
                    present.computeIfAbsent(uid, _ -> new HashSet<>()).add(SafeText.bounded(name));
                }
            }
            if (names.size() + present.size() > MAX_NAMES) {
                names.clear();
            }
            present.forEach((uid, all) -> {
                if (all.size() > 1) {
                    names.remove(uid);
                } else if (names.size() < MAX_NAMES) {
                    names.put(uid, all.iterator().next());
                }
            });
        }

        Optional<String> find(long uid) {
            return Optional.ofNullable(names.get(uid));
        }
    }

    /** The last content of a file that could be read. */
    private static final class ParsedFile<T> {
        private final Function<String, T> parser;
        private String version = "";
        private T latest;

        ParsedFile(Function<String, T> parser, T absent) {
            this.parser = parser;
            latest = absent;
        }

        /** Returns the last content; empty if it was never read. */
        Optional<T> latest() {
            return version.isEmpty() ? Optional.empty() : Optional.of(latest);
        }

        /** Reads a new version, and reports if that was not possible. */
        void read(Reading<TextFile> reading, String problem, Findings findings) {
            switch (reading) {
                case Reading.Failed<TextFile>(var _, var reason) ->
                    findings.add(ProblemCode.PASSWD_UNREADABLE, problem + reason);
                case Reading.Value<TextFile>(var file) -> {
                    var content = file.content();
                    if (content != null && !file.version().equals(version)) {
                        latest = parser.apply(content.text());
                        version = file.version();
                    }
                    if (!file.version().equals(version)) {
                        findings.add(ProblemCode.PASSWD_UNREADABLE, problem + "its content is missing");
                    }
                }
            }
        }
    }
}

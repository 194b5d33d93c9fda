package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Accounts.Match;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.Ternary;
import dev.genv.enforcer.policy.Holdings.RecordedUid;
import dev.genv.enforcer.policy.MemoryVictims.MemoryShare;
import dev.genv.enforcer.policy.MemoryVictims.MemoryUse;
import dev.genv.enforcer.policy.Rule.RuleBasis;
import dev.genv.enforcer.policy.Rule.RuleCheck;
import dev.genv.enforcer.policy.Rule.RuleSetting;
import dev.genv.enforcer.policy.RuleConfig.Limits.UserLimit;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The rules that limit the memory of an environment on a device, and of a user on all devices. */
final class MemoryRules {
    /** Violated by an environment that uses more memory on one of its devices than its capacity. */
    static final RuleDefinition ENV_MEMORY = new RuleDefinition(
            "env-memory",
            "More GPU memory than the environment has",
            """
            Reduce the memory that the job uses, or raise the capacity in the shell of the environment, for example with \
            `genv config gpu-memory 8g`.\
            """,
            RuleMode.ENFORCE,
            RuleBasis.LISTED_PROCESSES,
            Set.of(SnapshotPart.PROCESSES, SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS),
            List.of(new RuleSetting("env-memory", RuleSetting.Kind.MODE, """
                Environments that use more memory on an attached GPU than their capacity. `enforce` terminates processes of the \
                environment on that GPU until the rest fits. Use `audit` while users get used to it.\
                """)),
            Rule.ofHost(MemoryRules::environments));

    /**
     * Violated by a user whose processes use more memory than allowed, on all devices of all machines together. The real uid decides, not the
     * environment, so a process that names another user's environment counts for its own user. Each machine with a process to terminate has a
     * violation of its own, so that its processes decide when it is over.
     */
    static final RuleDefinition MAX_MEMORY_PER_USER = new RuleDefinition(
            "max-memory-per-user",
            "More GPU memory than a user may use",
            "Reduce the memory that your jobs use, or stop one of them. All your processes on all GPUs count together.",
            RuleMode.ENFORCE,
            RuleBasis.REAL_UIDS,
            Set.of(SnapshotPart.PROCESSES),
            List.of(
                    new RuleSetting("max-memory-per-user", RuleSetting.Kind.MEMORY_LIMIT, """
                        GPU memory that all processes of one user may use, on all GPUs of all machines together. Unset means no limit. \
                        The HTTP API has it in MiB.\
                        """),
                    new RuleSetting("max-memory-for-user", RuleSetting.Kind.MEMORY_LIMITS_OF_USERS, """
                        Limits of single users, instead of the general one and of those of groups. They also apply without a general \
                        limit. A uid needs a plus sign, such as `+1003`. Separate them by commas or blanks. The HTTP API has them in MiB.\
                        """),
                    new RuleSetting("max-memory-for-group", RuleSetting.Kind.MEMORY_LIMITS_OF_GROUPS, """
                        Limits of each user of a group, instead of the general one. The largest of a user's groups counts. A number is a \
                        gid. Separate them by commas or blanks. The HTTP API has them in MiB.\
                        """),
                    new RuleSetting("max-memory-per-user-mode", RuleSetting.Kind.MODE, """
                        Users whose processes use more GPU memory than allowed. `enforce` terminates processes of the user until the rest \
                        fits. Without a limit this has no effect.\
                        """)),
            MemoryRules::users);

    /** No account has such a name: chown(1) takes it for a uid. */
    private static final String UID_PREFIX = "+";

    private MemoryRules() {}

    private static void environments(Snapshot host, RuleCheck check) {
        for (var environment : host.environments()) {
            var capacity = environment.config().gpuMemory();
            if (capacity != null && environment.capacity().isEmpty()) {
                check.problem(
                        host,
                        ProblemCode.CAPACITY_UNREADABLE,
                        "The memory capacity %s of environment %s is not a valid amount of memory"
                                .formatted(SafeText.escape(capacity), SafeText.escape(environment.eid())));
            }
        }
        var shares = MemoryShare.of(host);
        for (var share : shares) {
            var unknown = share.uses().stream()
                    .map(MemoryUse::process)
                    .filter(process -> process.memoryOn(share.device()) == null);
            unknown.forEach(process -> check.problem(
                    host,
                    ProblemCode.MEMORY_UNKNOWN,
                    "The driver does not report how much memory process %d of environment %s uses on device %d"
                            .formatted(
                                    process.pid(),
                                    SafeText.escape(share.environment().eid()),
                                    share.device())));
        }
        var over = shares.stream().filter(MemoryShare::isExceeded).toList();
        var victims = new MemoryVictims(check.ending());
        over.forEach(share -> victims.add(share.capacity(), share.uses()));
        var chosen = victims.choose();
        over.forEach(share -> addEnvironment(host.host(), share, chosen, check));
    }

    private static void addEnvironment(String host, MemoryShare share, Set<HostProcess> victims, RuleCheck check) {
        var environment = share.environment();
        var used = MemoryUse.sum(share.uses());
        var capacity = String.valueOf(environment.config().gpuMemory());
        var message = Messages.on(check.fleet(), host)
                + "Environment %s is using %dm on device %d which is %dm over its capacity of %s"
                        .formatted(
                                SafeText.escape(environment.eid()),
                                used.megabytes(),
                                share.device(),
                                used.minus(share.capacity()).megabytes(),
                                SafeText.escape(capacity));
        var violation = new Violation(
                ENV_MEMORY,
                host,
                "environment %s device %d uid %s".formatted(environment.eid(), share.device(), share.uid()),
                message,
                environment.user().orElse(null),
                environment.eid(),
                List.of(share.device()),
                share.uses().stream().map(MemoryUse::process).toList());
        check.add(violation, MemoryVictims.terminations(share.uses(), victims, check.ending()));
    }

    private static void users(List<Snapshot> hosts, RuleCheck check) {
        var limits = check.limits();
        var uids = new HashMap<String, Set<RecordedUid>>();
        for (var host : limits.groups().isEmpty() ? List.<Snapshot>of() : hosts) {
            host.processes().stream()
                    .flatMap(process -> Stream.ofNullable(process.owner()))
                    .forEach(uid -> uids.computeIfAbsent(keyOf(host, uid), _ -> new HashSet<>())
                            .add(new RecordedUid(uid, host.details().accounts())));
        }
        var groups = new HashMap<List<String>, Match>(); // by user and group
        uids.forEach((user, its) -> limits.groups()
                .forEach(group ->
                        groups.put(List.of(user, group), RecordedUid.isInGroup(group, user, its, check.fleet()))));
        var byUser = new TreeMap<String, List<MemoryUse>>();
        var allowed = new HashMap<String, Memory>();
        var undecided = new TreeMap<String, List<MemoryUse>>();
        for (var host : hosts) {
            for (var process : host.processes()) {
                var uid = process.owner();
                var inContainer = process.inContainerOfRoot();
                if (uid == null
                        || uid == 0
                        || inContainer == Ternary.YES
                        || process.isOfOtherAllocator() != Ternary.NO) {
                    continue;
                }
                var user = keyOf(host, uid);
                var known = process.usage().stream()
                        .map(DeviceUsage::memory)
                        .filter(Objects::nonNull)
                        .toList();
                var use = new MemoryUse(host.host(), process, known.stream().reduce(Memory.ZERO, Memory::plus));
                var its = limits.limitFor(
                        limited -> host.details().accounts().match(limited, uid),
                        group -> groups.getOrDefault(List.of(user, group), Match.UNKNOWN));
                if (its instanceof UserLimit.Unknown) {
                    undecided.computeIfAbsent(user, _ -> new ArrayList<>()).add(use);
                }
                if (!(its instanceof UserLimit.Known(var limit))) {
                    continue;
                }
                if (inContainer == Ternary.UNKNOWN) {
                    check.problem(
                            host,
                            ProblemCode.CGROUP_UNKNOWN,
                            "It is unknown whether process %d of uid %d is in a container of root, where a uid can be anybody's"
                                    .formatted(process.pid(), process.uid()));
                    continue;
                }
                allowed.merge(user, Memory.ofMebibytes(limit), (one, other) -> one.compareTo(other) > 0 ? one : other);
                byUser.computeIfAbsent(user, _ -> new ArrayList<>()).add(use);
                if (known.size() < process.usage().size()) {
                    check.problem(
                            host,
                            ProblemCode.MEMORY_UNKNOWN,
                            "The driver does not report how much memory process %d of user %s uses"
                                    .formatted(process.pid(), SafeText.escape(nameOf(user))));
                }
            }
        }
        undecided.forEach((user, uses) -> {
            if (limits.mayExceed(MemoryUse.sum(uses).mebibytes())) {
                check.problems().add(UserLimit.problem(uses.getFirst().host(), MAX_MEMORY_PER_USER, nameOf(user)));
            }
        });
        byUser.forEach((user, uses) -> {
            var limit = Objects.requireNonNull(allowed.get(user));
            if (MemoryUse.sum(uses).compareTo(limit) > 0) {
                addUser(user, uses, limit, check);
            }
        });
    }

    /**
     * Adds a finding for each machine with a process to terminate or one that is leaving, or else for the one with the most memory of the
     * user.
     */
    private static void addUser(String user, List<MemoryUse> uses, Memory allowed, RuleCheck check) {
        var chosen = new MemoryVictims(check.ending());
        chosen.add(allowed, uses);
        var victims = chosen.choose();
        var byHost = uses.stream().collect(Collectors.groupingBy(MemoryUse::host, TreeMap::new, Collectors.toList()));
        var used = MemoryUse.sum(uses);
        var message = "User %s is using %dm of GPU memory%s which is %dm more than the maximum allowed"
                .formatted(
                        SafeText.escape(nameOf(user)),
                        used.megabytes(),
                        onHosts(check.fleet(), byHost.size()),
                        used.minus(allowed).megabytes());
        var largest = byHost.entrySet().stream()
                .max(Comparator.comparing(entry -> MemoryUse.sum(entry.getValue())))
                .orElseThrow()
                .getKey();
        Predicate<MemoryUse> isLeaving =
                use -> victims.contains(use.target()) || check.ending().isGone(use.target());
        var isAnyLeaving = uses.stream().anyMatch(isLeaving);
        byHost.forEach((host, there) -> {
            if (isAnyLeaving ? there.stream().anyMatch(isLeaving) : host.equals(largest)) {
                check.add(
                        violation(user, host, there, message),
                        MemoryVictims.terminations(there, victims, check.ending()));
            }
        });
    }

    static String onHosts(Fleet fleet, int hosts) {
        return fleet.remote() ? " on %d hosts".formatted(hosts) : "";
    }

    private static Violation violation(String user, String host, List<MemoryUse> uses, String message) {
        var processes = uses.stream().map(MemoryUse::process).toList();
        var devices = processes.stream().flatMap(process -> process.devices().stream());
        return new Violation(
                MAX_MEMORY_PER_USER,
                host,
                "user " + user,
                message,
                Objects.requireNonNullElse(processes.getFirst().userName(), nameOf(user)),
                null,
                devices.distinct().sorted().toList(),
                processes);
    }

    /** Returns the account of a uid, or else the uid after a plus sign: a number alone may be the name of another account. */
    private static String keyOf(Snapshot host, long uid) {
        return host.details().accounts().firstNameOf(uid).orElseGet(() -> UID_PREFIX + uid);
    }

    private static String nameOf(String key) {
        return key.startsWith(UID_PREFIX) ? key.substring(1) : key;
    }
}

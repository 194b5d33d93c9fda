package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.MemoryVictims.MemoryShare;
import dev.genv.enforcer.policy.MemoryVictims.MemoryUse;
import dev.genv.enforcer.policy.Plan.HostProblem;
import dev.genv.enforcer.policy.Rule.RuleBasis;
import dev.genv.enforcer.policy.Rule.RuleContext;
import dev.genv.enforcer.policy.Rule.RuleFinding;
import dev.genv.enforcer.policy.Rule.RuleResult;
import dev.genv.enforcer.policy.Rule.RuleSetting;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
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
                        Limits of single users, instead of the general one. They also apply without a general limit. A user without a \
                        local account is named by the uid. Separate them by commas or blanks. The HTTP API has them in MiB.\
                        """),
                    new RuleSetting("max-memory-per-user-mode", RuleSetting.Kind.MODE, """
                        Users whose processes use more GPU memory than allowed. `enforce` terminates processes of the user until the rest \
                        fits. Without a limit this has no effect.\
                        """)),
            MemoryRules::users);

    private MemoryRules() {}

    private static RuleResult environments(Snapshot snapshot, RuleContext context) {
        var shares = MemoryShare.of(snapshot);
        var over = shares.stream().filter(MemoryShare::isExceeded).toList();
        var victims = new MemoryVictims(context.ending());
        over.forEach(share -> victims.add(share.capacity(), share.uses()));
        var chosen = victims.choose();
        var problems = Stream.concat(
                snapshot.environments().stream().flatMap(environment -> unreadable(snapshot.host(), environment)),
                shares.stream().flatMap(MemoryRules::unknown).distinct());
        return new RuleResult(
                over.stream()
                        .map(share -> environment(snapshot.host(), share, chosen, context))
                        .toList(),
                problems.toList());
    }

    private static RuleFinding environment(
            String host, MemoryShare share, Set<HostProcess> victims, RuleContext context) {
        var environment = share.environment();
        var used = MemoryUse.sum(share.uses());
        var message = Messages.on(context.fleet(), host)
                + "Environment %s is using %dm on device %d which is %dm over its capacity of %s"
                        .formatted(
                                SafeText.escape(environment.eid()),
                                used.megabytes(),
                                share.device(),
                                used.minus(share.capacity()).megabytes(),
                                SafeText.escape(
                                        String.valueOf(environment.config().gpuMemory())));
        var violation = new Violation(
                ENV_MEMORY,
                host,
                "environment %s device %d uid %s".formatted(environment.eid(), share.device(), share.uid()),
                message,
                environment.user().orElse(null),
                environment.eid(),
                List.of(share.device()),
                share.uses().stream().map(MemoryUse::process).toList());
        return new RuleFinding(violation, MemoryVictims.terminations(share.uses(), victims, context.ending()));
    }

    private static Stream<HostProblem> unreadable(String host, Environment environment) {
        var capacity = environment.config().gpuMemory();
        return capacity == null || environment.capacity().isPresent()
                ? Stream.empty()
                : Stream.of(new HostProblem(
                        host,
                        ProblemCode.CAPACITY_UNREADABLE,
                        "The memory capacity %s of environment %s is not a valid amount of memory"
                                .formatted(SafeText.escape(capacity), SafeText.escape(environment.eid()))));
    }

    private static Stream<HostProblem> unknown(MemoryShare share) {
        return share.uses().stream()
                .filter(use -> use.process().memoryOn(share.device()) == null)
                .map(use -> new HostProblem(
                        use.host(),
                        ProblemCode.MEMORY_UNKNOWN,
                        "The driver does not report how much memory process %d of environment %s uses on device %d"
                                .formatted(
                                        use.process().pid(),
                                        SafeText.escape(share.environment().eid()),
                                        share.device())));
    }

    private static RuleResult users(List<Snapshot> hosts, RuleContext context) {
        var limits = context.limits();
        var byUser = new TreeMap<String, List<MemoryUse>>();
        var problems = new ArrayList<HostProblem>();
        for (var snapshot : hosts) {
            var environments = snapshot.environmentsById();
            for (var process : snapshot.processes()) {
                userOf(snapshot, environments, process)
                        .filter(user -> limits.limitFor(user).isPresent())
                        .ifPresent(user -> {
                            byUser.computeIfAbsent(user, _ -> new ArrayList<>())
                                    .add(new MemoryUse(snapshot.host(), process, known(process)));
                            unknown(snapshot.host(), user, process).forEach(problems::add);
                        });
            }
        }
        var findings = new ArrayList<RuleFinding>();
        byUser.forEach((user, uses) -> {
            var allowed = Memory.ofMebibytes(limits.limitFor(user).orElseThrow());
            if (MemoryUse.sum(uses).compareTo(allowed) > 0) {
                findings.addAll(user(user, uses, allowed, context));
            }
        });
        return new RuleResult(findings, problems);
    }

    /** Returns the findings of a user: one for each machine with a process to terminate, or else for the one with the most memory. */
    private static List<RuleFinding> user(String user, List<MemoryUse> uses, Memory allowed, RuleContext context) {
        var chosen = new MemoryVictims(context.ending());
        chosen.add(allowed, uses);
        var victims = chosen.choose();
        var byHost = uses.stream().collect(Collectors.groupingBy(MemoryUse::host, TreeMap::new, Collectors.toList()));
        var used = MemoryUse.sum(uses);
        var message = "User %s is using %dm of GPU memory%s which is %dm more than the maximum allowed"
                .formatted(
                        SafeText.escape(user),
                        used.megabytes(),
                        onHosts(context.fleet(), byHost.size()),
                        used.minus(allowed).megabytes());
        var largest = byHost.entrySet().stream()
                .max(Comparator.comparing(entry -> MemoryUse.sum(entry.getValue())))
                .orElseThrow()
                .getKey();
        return byHost.entrySet().stream()
                .filter(host -> victims.isEmpty()
                        ? host.getKey().equals(largest)
                        : host.getValue().stream().anyMatch(use -> victims.contains(use.target())))
                .map(host -> new RuleFinding(
                        violation(user, host.getKey(), host.getValue(), message),
                        MemoryVictims.terminations(host.getValue(), victims, context.ending())))
                .toList();
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
                Objects.requireNonNullElse(processes.getFirst().userName(), user),
                null,
                devices.distinct().sorted().toList(),
                processes);
    }

    /**
     * Returns the user of a process: the account of the real uid, or else the uid. Empty for root, and for a container of root, in which
     * the uid can be any number.
     */
    private static Optional<String> userOf(
            Snapshot snapshot, Map<String, Environment> environments, GpuProcess process) {
        var workload = process.workload();
        if (workload != null && workload.isInContainerOfRoot()) {
            return Optional.empty();
        }
        var environment = process.environment(environments).orElse(null);
        var uid = environment == null
                ? snapshot.subordinateUids().ownerOf(process.uid())
                : snapshot.userOf(process.uid(), environment);
        return uid == null || uid == 0
                ? Optional.empty()
                : snapshot.details().accounts().namesOf(uid).stream()
                        .min(Comparator.naturalOrder())
                        .or(() -> Optional.of(uid.toString()));
    }

    private static Memory known(GpuProcess process) {
        return process.usage().stream()
                .map(DeviceUsage::memory)
                .filter(Objects::nonNull)
                .reduce(Memory.ZERO, Memory::plus);
    }

    private static Stream<HostProblem> unknown(String host, String user, GpuProcess process) {
        return process.usage().stream().allMatch(use -> use.memory() != null)
                ? Stream.empty()
                : Stream.of(new HostProblem(
                        host,
                        ProblemCode.MEMORY_UNKNOWN,
                        "The driver does not report how much memory process %d of user %s uses"
                                .formatted(process.pid(), SafeText.escape(user))));
    }
}

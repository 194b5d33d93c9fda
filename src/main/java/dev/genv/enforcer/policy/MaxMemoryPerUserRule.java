package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.MemoryVictims.MemoryUse;
import dev.genv.enforcer.policy.Plan.HostProblem;
import dev.genv.enforcer.policy.RuleConfig.Limits;
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

/**
 * Violated by a user whose processes use more memory than allowed, on all devices of all machines together. The real uid decides, not the
 * environment, so a process that names another user's environment counts for its own user. Each machine with a process to terminate has a
 * violation of its own, so that its processes decide when it is over.
 */
final class MaxMemoryPerUserRule implements Rule {
    static final RuleDefinition DEFINITION = new RuleDefinition(
            "max-memory-per-user",
            "More GPU memory than a user may use",
            "Reduce the memory that your jobs use, or stop one of them. All your processes on all GPUs count together.",
            RuleMode.ENFORCE,
            RuleScope.HOST,
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
                """)));

    @Override
    public RuleDefinition definition() {
        return DEFINITION;
    }

    @Override
    public RuleResult check(Fleet fleet, RuleContext context) {
        var limits = context.limits();
        if (limits.equals(Limits.NONE)) {
            return new RuleResult(List.of());
        }
        var byUser = new TreeMap<String, List<MemoryUse>>();
        var problems = new ArrayList<HostProblem>();
        for (var snapshot : DEFINITION.checkable(fleet)) {
            var environments = snapshot.environmentsById();
            for (var process : snapshot.processes()) {
                userOf(snapshot, environments, process)
                        .filter(user -> limits.limitFor(user).isPresent())
                        .ifPresent(user -> {
                            byUser.computeIfAbsent(user, _ -> new ArrayList<>())
                                    .add(new MemoryUse(snapshot.host(), process, known(process)));
                            problem(snapshot.host(), user, process).ifPresent(problems::add);
                        });
            }
        }
        var findings = new ArrayList<RuleFinding>();
        byUser.forEach((user, uses) -> {
            var allowed = Memory.ofMebibytes(limits.limitFor(user).orElseThrow());
            if (used(uses).compareTo(allowed) > 0) {
                findings.addAll(findings(fleet, user, uses, allowed, context.ending()));
            }
        });
        return new RuleResult(findings, problems);
    }

    private static List<RuleFinding> findings(
            Fleet fleet, String user, List<MemoryUse> uses, Memory allowed, ExpectedExits ending) {
        var chosen = new MemoryVictims(ending);
        chosen.add(allowed, uses);
        var victims = chosen.choose();
        var byHost = uses.stream().collect(Collectors.groupingBy(MemoryUse::host, TreeMap::new, Collectors.toList()));
        var message = "User %s is using %dm of GPU memory%s which is %dm more than the maximum allowed"
                .formatted(
                        SafeText.escape(user),
                        used(uses).megabytes(),
                        fleet.remote() ? " on %d hosts".formatted(byHost.size()) : "",
                        used(uses).minus(allowed).megabytes());
        var largest = byHost.entrySet().stream()
                .max(Comparator.comparing(entry -> used(entry.getValue())))
                .orElseThrow()
                .getKey();
        return byHost.entrySet().stream()
                .filter(host -> victims.isEmpty()
                        ? host.getKey().equals(largest)
                        : host.getValue().stream().anyMatch(use -> victims.contains(use.target())))
                .map(host -> finding(user, host.getKey(), host.getValue(), message, victims, ending))
                .toList();
    }

    /** A process that another rule terminates also frees memory here, so its action names both rules. */
    private static RuleFinding finding(
            String user,
            String host,
            List<MemoryUse> uses,
            String message,
            Set<HostProcess> victims,
            ExpectedExits ending) {
        var processes = uses.stream().map(MemoryUse::process).toList();
        var violation = new Violation(
                DEFINITION,
                host,
                "user " + user,
                message,
                user,
                null,
                processes.stream()
                        .flatMap(process -> process.devices().stream())
                        .distinct()
                        .sorted()
                        .toList(),
                processes);
        var actions = uses.stream()
                .filter(use -> victims.contains(use.target())
                        || (ending.isNow(host, use.process()) && use.memory().compareTo(Memory.ZERO) > 0))
                .<Action>map(use -> new Action.Terminate(host, use.process()))
                .toList();
        return new RuleFinding(violation, actions);
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
        var environment =
                process.membership() instanceof Membership.InEnvironment(var eid) ? environments.get(eid) : null;
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

    private static Memory used(List<MemoryUse> uses) {
        return uses.stream().map(MemoryUse::memory).reduce(Memory.ZERO, Memory::plus);
    }

    private static Optional<HostProblem> problem(String host, String user, GpuProcess process) {
        return process.usage().stream().allMatch(use -> use.memory() != null)
                ? Optional.empty()
                : Optional.of(new HostProblem(
                        host,
                        ProblemCode.MEMORY_UNKNOWN,
                        "The driver does not report how much memory process %d of user %s uses"
                                .formatted(process.pid(), SafeText.escape(user))));
    }
}

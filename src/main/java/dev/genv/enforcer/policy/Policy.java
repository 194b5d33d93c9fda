package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.HostProcess;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;

/** The rules, each with its mode. Pure: the same fleet always gives the same plan. */
public final class Policy {
    private static final Comparator<Action.Detach> DETACHMENTS = Comparator.comparing(Action.Detach::host)
            .thenComparing(detach -> detach.environment().eid())
            .thenComparingInt(Action.Detach::device)
            .thenComparing(
                    detach -> Objects.requireNonNullElse(detach.attachment().time(), ""))
            .thenComparing(
                    detach -> Objects.requireNonNullElse(detach.attachment().gpuMemory(), ""));

    private final Map<RuleName, RuleMode> modes;
    private final List<Rule> rules;

    /**
     * Puts the rules together.
     *
     * @param modes a rule that is not named is off
     */
    public Policy(Map<RuleName, RuleMode> modes, DeviceLimits limits) {
        this.modes = new EnumMap<>(RuleName.class);
        this.modes.putAll(modes);
        rules = List.of(
                new NonEnvProcesses(),
                new InactiveEnvProcesses(),
                new EnvDevices(),
                new MaxDevicesPerUser(limits),
                new EnvMemory(),
                new EnvOwner());
    }

    public RuleMode modeOf(RuleName rule) {
        return modes.getOrDefault(rule, RuleMode.OFF);
    }

    /**
     * Applies the rules one after the other. What an enforced rule ends counts as gone for those after it; what a rule in
     * audit would end does not, for it goes on running.
     *
     * @param asked processes that were asked to end a short while ago: what they hold counts as freed
     */
    public Plan check(Fleet fleet, Set<HostProcess> asked) {
        var ending = new Ending(asked, Set.of());
        var findings = new ArrayList<Finding>();
        var problems = new ArrayList<HostProblem>();
        for (var rule : rules) {
            if (modeOf(rule.name()) == RuleMode.OFF) {
                continue;
            }
            var verdict = rule.check(fleet, ending);
            findings.addAll(verdict.findings());
            problems.addAll(verdict.problems());
            if (modeOf(rule.name()) == RuleMode.ENFORCE) {
                ending = ending.and(terminated(verdict));
            }
        }
        return new Plan(findings.stream().map(Finding::violation).toList(), merge(findings), problems);
    }

    private static List<HostProcess> terminated(Verdict verdict) {
        return verdict.findings().stream()
                .flatMap(finding -> finding.actions().stream())
                .filter(Action.Terminate.class::isInstance)
                .map(Action.Terminate.class::cast)
                .filter(terminate -> terminate.process().immunity() == null) // it goes on holding what it holds
                .map(Action.Terminate::target)
                .toList();
    }

    private List<PlannedAction> merge(List<Finding> findings) {
        var terminations = new TreeMap<HostProcess, Wanted>();
        var detachments = new TreeMap<Action.Detach, Wanted>(DETACHMENTS);
        for (var finding : findings) {
            for (var action : finding.actions()) {
                var wanted = switch (action) {
                    case Action.Terminate terminate ->
                        terminations.computeIfAbsent(terminate.target(), _ -> new Wanted(action));
                    case Action.Detach detach -> detachments.computeIfAbsent(detach, _ -> new Wanted(action));
                };
                if (!wanted.causes.contains(finding.violation())) {
                    wanted.causes.add(finding.violation());
                }
            }
        }
        var actions = new ArrayList<PlannedAction>();
        terminations.values().forEach(wanted -> actions.add(planned(wanted)));
        detachments.values().forEach(wanted -> actions.add(planned(wanted)));
        return actions;
    }

    private PlannedAction planned(Wanted wanted) {
        return new PlannedAction(
                wanted.action,
                List.copyOf(wanted.causes),
                wanted.causes.stream().anyMatch(cause -> modeOf(cause.rule()) == RuleMode.ENFORCE));
    }

    private record Wanted(Action action, List<Violation> causes) {
        Wanted(Action action) {
            this(action, new ArrayList<>());
        }
    }
}

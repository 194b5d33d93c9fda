package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.policy.Plan.HostProblem;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.Rule.ExpectedExits;
import dev.genv.enforcer.policy.Rule.RuleCheck;
import dev.genv.enforcer.policy.Rule.RuleFinding;
import dev.genv.enforcer.policy.RuleConfig.IdleLimits;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** The rules with their modes. A pure function: the same fleet always gives the same plan. */
public final class Policy {
    private static final Comparator<Action.Detach> DETACHMENTS = Comparator.comparing(Action.Detach::host)
            .thenComparing(detach -> detach.environment().eid())
            .thenComparingInt(Action.Detach::device)
            .thenComparing(Action.Detach::attachment, Attachment.ORDER);

    private final Map<RuleDefinition, RuleConfig> configs;
    private final IdleLimits idle;

    /** Creates a policy; a rule without a configuration is off. */
    public Policy(Map<RuleDefinition, RuleConfig> configs, IdleLimits idle) {
        this.configs = Map.copyOf(configs);
        this.idle = idle;
    }

    /** Creates a policy with the usual limits of idleness. */
    public Policy(Map<RuleDefinition, RuleConfig> configs) {
        this(configs, IdleLimits.DEFAULT);
    }

    public IdleLimits idle() {
        return idle;
    }

    public RuleMode modeOf(RuleDefinition rule) {
        return configOf(rule).mode();
    }

    /** Returns how the rule is configured; off if it is not. */
    public RuleConfig configOf(RuleDefinition rule) {
        return configs.getOrDefault(rule, RuleConfig.OFF);
    }

    /** Returns the limits of a rule; {@link Limits#NONE} if it has none or is off. */
    public Limits limitsOf(RuleDefinition rule) {
        var config = configOf(rule);
        return config.mode() == RuleMode.OFF ? Limits.NONE : config.limits();
    }

    /**
     * Checks the rules as if all grace periods were over. The memory and the devices of signalled processes, which are expected to exit,
     * count as freed.
     */
    public Plan check(Fleet fleet, Set<HostProcess> signalled) {
        return check(
                fleet,
                new ExpectedExits(signalled, Set.of(), Set.of()),
                (_, action) -> action.process().immunity() == null);
    }

    /**
     * Checks the rules in their order. Later rules treat a process that an enforced rule terminates now as gone. They do not do so for a
     * rule in audit mode or an action that waits, because the process continues to run.
     */
    public Plan check(Fleet fleet, ExpectedExits expected, DueCheck due) {
        var ending = expected;
        var findings = new ArrayList<RuleFinding>();
        var problems = new ArrayList<HostProblem>();
        for (var rule : Rules.definitions()) {
            var config = configOf(rule);
            if (config.mode() == RuleMode.OFF) {
                continue;
            }
            var result = rule.check(fleet, ending, config.limits(), idle);
            findings.addAll(result.findings());
            problems.addAll(result.problems());
            if (config.mode() == RuleMode.ENFORCE) {
                ending = ending.and(terminated(result, due));
            }
        }
        return new Plan(findings.stream().map(RuleFinding::violation).toList(), merge(findings), problems);
    }

    /** Whether an action that an enforced rule asks for happens in this cycle. */
    @FunctionalInterface
    public interface DueCheck {
        boolean isDue(RuleFinding finding, Action.Terminate action);
    }

    private static List<HostProcess> terminated(RuleCheck result, DueCheck due) {
        var terminated = new ArrayList<HostProcess>();
        for (var finding : result.findings()) {
            for (var action : finding.actions()) {
                if (action instanceof Action.Terminate terminate && due.isDue(finding, terminate)) {
                    terminated.add(terminate.target());
                }
            }
        }
        return terminated;
    }

    private List<PlannedAction> merge(List<RuleFinding> findings) {
        var wanted = new TreeMap<Action, List<Violation>>(Policy::compare);
        for (var finding : findings) {
            for (var action : finding.actions()) {
                var causes = wanted.computeIfAbsent(action, _ -> new ArrayList<>());
                if (!causes.contains(finding.violation())) {
                    causes.add(finding.violation());
                }
            }
        }
        return wanted.entrySet().stream()
                .map(entry -> planned(entry.getKey(), entry.getValue()))
                .toList();
    }

    /** Terminations come first. Two of the same process are equal, although rules may see it differently. */
    private static int compare(Action one, Action other) {
        return switch (one) {
            case Action.Terminate terminate ->
                other instanceof Action.Terminate another ? terminate.target().compareTo(another.target()) : -1;
            case Action.Detach detach ->
                other instanceof Action.Detach another ? DETACHMENTS.compare(detach, another) : 1;
        };
    }

    private PlannedAction planned(Action action, List<Violation> wanted) {
        return new PlannedAction(
                action,
                wanted.stream()
                        .sorted(Comparator.comparing(cause -> !isEnforced(cause)))
                        .toList());
    }

    /** Whether an enforced rule asks for an action of a plan. */
    public boolean enforces(PlannedAction planned) {
        return planned.causes().stream().anyMatch(this::isEnforced);
    }

    private boolean isEnforced(Violation violation) {
        return modeOf(violation.rule()) == RuleMode.ENFORCE;
    }
}

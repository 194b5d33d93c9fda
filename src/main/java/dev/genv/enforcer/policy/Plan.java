package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.policy.Action.Signal;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The violations of a fleet, and the actions that they ask for.
 *
 * @param violations in the order of the rules
 * @param actions terminations first, then detachments, each in a fixed order
 * @param problems what could not be checked
 */
public record Plan(List<Violation> violations, List<PlannedAction> actions, List<HostProblem> problems) {
    public static final Plan EMPTY = new Plan(List.of(), List.of(), List.of());

    /** Returns the violations for which each process is to be terminated. */
    public Map<HostProcess, List<Violation>> terminations() {
        var causes = new HashMap<HostProcess, List<Violation>>();
        actions.forEach(planned -> planned.process().ifPresent(process -> causes.put(process, planned.causes())));
        return causes;
    }

    /** A problem that prevented a rule from checking a part of a machine. */
    public record HostProblem(String host, Problem problem) {
        HostProblem(String host, ProblemCode code, String detail) {
            this(host, new Problem(code, detail));
        }
    }

    /**
     * An action, planned once even if several violations ask for it.
     *
     * @param causes the violations that ask for it: first those of enforced rules, and within both in the order of the rules
     */
    public record PlannedAction(Action action, List<Violation> causes) {
        /** The rules that ask for it, each once. */
        public List<RuleDefinition> rules() {
            return causes.stream().map(Violation::rule).distinct().toList();
        }

        /** The names of the rules that ask for it, each once. */
        public List<String> ruleNames() {
            return rules().stream().map(RuleDefinition::name).toList();
        }

        /** The user whose violation it ends, as text that the user may have chosen; empty if nobody is known. */
        public Optional<String> user() {
            return causes.stream().findFirst().map(Violation::countedUser);
        }

        /** The process that it terminates; empty if it terminates none. */
        public Optional<HostProcess> process() {
            return action instanceof Action.Terminate terminate ? Optional.of(terminate.target()) : Optional.empty();
        }

        /** Whether it asks a process to exit. */
        public boolean isSigterm() {
            return action instanceof Action.Terminate terminate && terminate.signal() == Signal.TERM;
        }
    }
}

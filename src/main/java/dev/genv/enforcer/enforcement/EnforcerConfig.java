package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.Gate.Enforcement;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;

/**
 * The configuration of the cycles.
 *
 * @param hosts supplies the hosts at the start of every cycle; their names are unique
 * @param remote whether the hosts are other machines, not the node
 * @param signals whether processes may be signalled at all
 * @param quiet whether hosts that do not answer are left out of the log
 */
public record EnforcerConfig(
        Supplier<List<Host>> hosts,
        boolean remote,
        CurrentPolicy policies,
        ServiceMode mode,
        boolean signals,
        SafetyLimits safetyLimits,
        Timing timing,
        boolean quiet) {
    /**
     * How long a cycle may take.
     *
     * @param interval the time from one cycle to the next; zero for a single cycle
     * @param observation the time limit of an observation
     * @param action the time limit of the actions
     */
    public record Timing(Duration interval, Duration observation, Duration action) {}

    /** The policy of the present cycle. */
    public Policy policy() {
        return policies.get().policy();
    }

    /** Returns the weaker one of the modes of a rule and of the service. */
    RuleMode effectiveMode(RuleDefinition rule) {
        return mode == ServiceMode.AUDIT ? RuleMode.AUDIT : policy().modeOf(rule);
    }

    /** What these settings enforce. */
    public Enforcement enforcement() {
        return new Enforcement(
                mode,
                rule -> policy().modeOf(rule) == RuleMode.ENFORCE,
                signals,
                safetyLimits.grace(),
                policy().idle().utilization());
    }
}

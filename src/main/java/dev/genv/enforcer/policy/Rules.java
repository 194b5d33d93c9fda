package dev.genv.enforcer.policy;

import java.util.List;
import java.util.Optional;

/** All rules. */
public final class Rules {
    /** In the order of their checks: later rules treat a process that an earlier rule terminates as gone. */
    private static final List<Rule> ALL = List.of(
            new NonEnvProcessesRule(),
            new InactiveEnvProcessesRule(),
            new EnvDevicesRule(),
            new MaxDevicesPerUserRule(),
            new EnvMemoryRule(),
            new EnvOwnerRule(),
            new IdleDevicesRule(),
            new IdleProcessesRule(),
            new MaxMemoryPerUserRule(),
            new UnlistedProcessesRule());

    public static final RuleDefinition INACTIVE_ENV_PROCESSES = InactiveEnvProcessesRule.DEFINITION;
    public static final RuleDefinition MAX_DEVICES_PER_USER = MaxDevicesPerUserRule.DEFINITION;
    public static final RuleDefinition MAX_MEMORY_PER_USER = MaxMemoryPerUserRule.DEFINITION;
    public static final RuleDefinition IDLE_DEVICES = IdleDevicesRule.DEFINITION;
    public static final RuleDefinition IDLE_PROCESSES = IdleProcessesRule.DEFINITION;
    public static final RuleDefinition ENV_MEMORY = EnvMemoryRule.DEFINITION;

    private static final List<RuleDefinition> DEFINITIONS =
            ALL.stream().map(Rule::definition).toList();

    private Rules() {}

    /** Returns the rules in the order of their checks. */
    public static List<Rule> all() {
        return ALL;
    }

    /** Returns what the rules declare, in the order of their checks. */
    public static List<RuleDefinition> definitions() {
        return DEFINITIONS;
    }

    public static Optional<RuleDefinition> find(String name) {
        return DEFINITIONS.stream().filter(rule -> rule.name().equals(name)).findFirst();
    }
}

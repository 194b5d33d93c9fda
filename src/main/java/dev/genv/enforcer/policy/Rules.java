package dev.genv.enforcer.policy;

import java.util.List;
import java.util.Optional;

/** All rules. */
public final class Rules {
    public static final RuleDefinition INACTIVE_ENV_PROCESSES = ProcessRules.INACTIVE_ENV_PROCESSES;
    public static final RuleDefinition MAX_DEVICES_PER_USER = MaxDevicesPerUserRule.DEFINITION;
    public static final RuleDefinition MAX_MEMORY_PER_USER = MemoryRules.MAX_MEMORY_PER_USER;
    public static final RuleDefinition IDLE_DEVICES = IdleRules.IDLE_DEVICES;
    public static final RuleDefinition IDLE_PROCESSES = IdleRules.IDLE_PROCESSES;
    public static final RuleDefinition ENV_MEMORY = MemoryRules.ENV_MEMORY;

    private static final List<RuleDefinition> ALL = List.of(
            ProcessRules.NON_ENV_PROCESSES,
            INACTIVE_ENV_PROCESSES,
            ProcessRules.ENV_DEVICES,
            MAX_DEVICES_PER_USER,
            ENV_MEMORY,
            EnvOwnerRule.DEFINITION,
            IDLE_DEVICES,
            IDLE_PROCESSES,
            MAX_MEMORY_PER_USER,
            ProcessRules.UNLISTED_PROCESSES);

    private Rules() {}

    /** Returns the rules in the order of their checks: later rules treat a process that an earlier rule terminates as gone. */
    public static List<RuleDefinition> definitions() {
        return ALL;
    }

    public static Optional<RuleDefinition> find(String name) {
        return ALL.stream().filter(rule -> rule.name().equals(name)).findFirst();
    }
}

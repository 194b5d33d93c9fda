package dev.genv.enforcer.policy;

import dev.genv.enforcer.policy.Rule.RuleBasis;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** All rules. */
public final class Rules {
    public static final RuleDefinition INACTIVE_ENV_PROCESSES = ProcessRules.INACTIVE_ENV_PROCESSES;
    public static final RuleDefinition MAX_DEVICES_PER_USER = MaxDevicesPerUserRule.DEFINITION;
    public static final RuleDefinition MAX_MEMORY_PER_USER = MemoryRules.MAX_MEMORY_PER_USER;
    public static final RuleDefinition IDLE_DEVICES = IdleRules.IDLE_DEVICES;
    public static final RuleDefinition IDLE_PROCESSES = IdleRules.IDLE_PROCESSES;
    /** Those that treat the memory of a process that was signalled as freed. */
    public static final Set<RuleDefinition> OF_MEMORY = Set.of(MemoryRules.ENV_MEMORY, MAX_MEMORY_PER_USER);

    private static final List<RuleDefinition> ALL = List.of(
            ProcessRules.NON_ENV_PROCESSES,
            INACTIVE_ENV_PROCESSES,
            ProcessRules.ENV_DEVICES,
            MAX_DEVICES_PER_USER,
            MemoryRules.ENV_MEMORY,
            EnvOwnerRule.DEFINITION,
            IDLE_DEVICES,
            IDLE_PROCESSES,
            MAX_MEMORY_PER_USER);

    /** No policy checks it, but a database can hold its violations, which only report. */
    private static final RuleDefinition UNLISTED_PROCESSES = new RuleDefinition(
            "unlisted-processes",
            "GPU memory of a process that the GPU tool does not list",
            "Stop the job if you do not need it.",
            RuleMode.OFF,
            RuleBasis.LISTED_PROCESSES,
            Set.of(),
            List.of(),
            (_, _) -> {});

    private Rules() {}

    /** Returns the rules in the order of their checks: later rules treat a process that an earlier rule terminates as gone. */
    public static List<RuleDefinition> definitions() {
        return ALL;
    }

    /** Returns the rule of a stored violation. */
    public static Optional<RuleDefinition> findStored(String name) {
        return find(name)
                .or(() -> Optional.of(UNLISTED_PROCESSES)
                        .filter(rule -> rule.name().equals(name)));
    }

    public static Optional<RuleDefinition> find(String name) {
        return ALL.stream().filter(rule -> rule.name().equals(name)).findFirst();
    }
}

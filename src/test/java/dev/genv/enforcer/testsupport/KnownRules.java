package dev.genv.enforcer.testsupport;

import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.RuleConfig;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Rules;
import java.util.HashMap;
import java.util.Map;

/** The rules by their names, and policies of them. */
public final class KnownRules {
    public static final RuleDefinition NON_ENV_PROCESSES = named("non-env-processes");
    public static final RuleDefinition INACTIVE_ENV_PROCESSES = named("inactive-env-processes");
    public static final RuleDefinition ENV_DEVICES = named("env-devices");
    public static final RuleDefinition MAX_DEVICES_PER_USER = named("max-devices-per-user");
    public static final RuleDefinition ENV_MEMORY = named("env-memory");
    public static final RuleDefinition ENV_OWNER = named("env-owner");
    public static final RuleDefinition MAX_MEMORY_PER_USER = named("max-memory-per-user");
    public static final RuleDefinition IDLE_DEVICES = named("idle-devices");
    public static final RuleDefinition IDLE_PROCESSES = named("idle-processes");

    private KnownRules() {}

    /** Returns all rules in the order of their checks. */
    public static RuleDefinition[] all() {
        return Rules.definitions().toArray(RuleDefinition[]::new);
    }

    /** Returns a policy with these modes, and with these limits of devices per user. */
    public static Policy policy(Map<RuleDefinition, RuleMode> modes, Limits limits) {
        return policy(modes, limits, Limits.NONE);
    }

    /** Returns a policy with these modes, and with these limits of devices and of memory per user. */
    public static Policy policy(Map<RuleDefinition, RuleMode> modes, Limits limits, Limits memory) {
        var configs = new HashMap<RuleDefinition, RuleConfig>();
        var limitsOf = Map.of(MAX_DEVICES_PER_USER, limits, MAX_MEMORY_PER_USER, memory);
        modes.forEach((rule, mode) ->
                configs.put(rule, new RuleConfig(mode, limitsOf.getOrDefault(rule, Limits.NONE))));
        return new Policy(configs);
    }

    /** Returns the rule with this name. */
    public static RuleDefinition named(String name) {
        return Rules.find(name).orElseThrow(() -> new IllegalArgumentException("no rule is named " + name));
    }
}

package dev.genv.enforcer.notification.notice;

import dev.genv.enforcer.policy.definition.RuleDefinition;
import java.util.Map;

/** What a user can do about a violation, in genv's commands. */
final class Remedies {
    private static final Map<String, String> BY_RULE = Map.of(
            "non-env-processes",
            "Run the program in an environment: first \"genv activate --gpus 1\", then the program.",
            "inactive-env-processes",
            "The environment is no longer active, because its shell has exited. Run the program in an active environment.",
            "env-devices",
            "Use only the GPUs that are attached to the environment, or attach the GPU with \"genv attach\".",
            "max-devices-per-user",
            "Detach GPUs that you do not need with \"genv detach\".",
            "env-memory",
            "Use less memory on this GPU, or give the environment a larger capacity with \"genv config gpu-memory\".",
            "unlisted-processes",
            "Run the program in an environment that the GPU is attached to, or end the process.",
            "env-owner",
            "Run the program in an environment of your own.");

    private Remedies() {}

    /** Returns a sentence; empty if there is none for the rule. */
    static String of(RuleDefinition rule) {
        return BY_RULE.getOrDefault(rule.name(), "");
    }
}

package dev.genv.enforcer.model.problem;

import java.util.Locale;

/** What the service does not do on a machine while a problem lasts. Its text is in problems.properties. */
public enum ProblemConsequence {
    NO_RULE_ACTS,
    MACHINE_UNREACHABLE,
    STATE_RULES_STOP,
    ATTACHMENT_RULES_STOP,
    PROCESSES_NOT_CHECKED,
    CONTAINER_RECREATED,
    PROCESSES_SKIPPED,
    GPUS_SKIPPED,
    PROCESSES_WAIT,
    PROCESS_SKIPPED,
    PRIVILEGE_NEEDED,
    NOTHING_DETACHED,
    READ_ONLY,
    DEVICE_NOT_CHECKED,
    MEMORY_NOT_CHECKED,
    QUOTA_NOT_COUNTED,
    QUOTA_NOT_ENFORCED,
    ENTRY_IGNORED,
    TERMINATIONS_WAIT,
    COUNTED_ELSEWHERE,
    KERNELS_COUNT_AS_ACTIVE,
    SETTING_IGNORED,
    PROTECTION_UNCERTAIN,
    ACCOUNTS_OUTDATED,
    SAFEGUARDS_WEAKER,
    NO_EXEMPTIONS,
    NOT_ALL_LISTED,
    MEMORY_ONLY,
    REPORTED_ONLY;

    /** The name in JSON, such as {@code read_only}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}

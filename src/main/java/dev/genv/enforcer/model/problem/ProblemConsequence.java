package dev.genv.enforcer.model.problem;

import java.util.Locale;

/** What the service does not do on a machine while a problem lasts. */
public enum ProblemConsequence {
    NO_RULE_ACTS("No rule acts on this machine. Readiness fails."),
    MACHINE_UNREACHABLE(
            "No rule acts on this machine, whose status is `unreachable`. Readiness fails unless the service fully observes another machine."),
    STATE_RULES_STOP(
            "Without `envs.json` no rule acts on this machine. Without `devices.json`, `env-devices`, `env-memory`, `unlisted-processes` and `max-devices-per-user` do not act. Readiness fails."),
    ATTACHMENT_RULES_STOP(
            "`env-devices`, `env-memory`, `unlisted-processes` and `max-devices-per-user` do not act on this machine. Readiness fails."),
    PROCESSES_NOT_CHECKED("No rule acts on the processes of this machine. Readiness fails."),
    CONTAINER_RECREATED(
            "No rule acts on the processes of this machine. Readiness fails. On a node, liveness fails too after three cycles."),
    PROCESSES_SKIPPED(
            "No rule acts on what the service did not observe. `max-devices-per-user` does not count this machine. Violations stay active. Readiness fails."),
    GPUS_SKIPPED(
            "No rule acts on what the service did not observe; if nvidia-smi fails, that is every process. `max-devices-per-user` does not count this machine. Violations stay active. Readiness fails."),
    PROCESSES_WAIT(
            "No rule acts on these processes before they are read. Their violations stay active. Readiness fails."),
    PROCESS_SKIPPED("No rule acts on this process."),
    PRIVILEGE_NEEDED(
            "The service does not do what needs the privilege; without `HOST_PID` no rule acts. Readiness fails."),
    NOTHING_DETACHED("The service detaches nothing on this machine. The service reads the state without genv's lock."),
    READ_ONLY("The service reports violations, but terminates and detaches nothing on this machine."),
    DEVICE_NOT_CHECKED(
            "`env-devices`, `env-memory`, `unlisted-processes` and `max-devices-per-user` do not act on this device."),
    MEMORY_NOT_CHECKED("`env-memory` does not act on this process or environment."),
    QUOTA_NOT_COUNTED("`max-devices-per-user` does not count the devices of this environment."),
    QUOTA_NOT_ENFORCED("`max-devices-per-user` does not detach these devices of the user."),
    ENTRY_IGNORED(
            "The service ignores the unreadable part. It merges entries that exist twice, in their owner's favour. If genv's own protocol reports an unreadable process, readiness fails."),
    TERMINATIONS_WAIT("The remaining processes wait for the next cycle."),
    COUNTED_ELSEWHERE("No rule acts on the machine under this name. The rules act on it under the other name."),
    KERNELS_COUNT_AS_ACTIVE(
            "Environments that list Jupyter kernels count as active, even if none of their kernels runs."),
    SETTING_IGNORED("This user is not exempt on this machine, and the protected program is protected only for root."),
    PROTECTION_UNCERTAIN(
            "The program protects no process. If the service cannot examine its file, it terminates no process that may run it."),
    ACCOUNTS_OUTDATED(
            "The service uses the accounts that it read last. Before it has read them once, it executes no action on the machine if a setting names a user."),
    SAFEGUARDS_WEAKER(
            "All rules act. A signal can reach a process that took over the pid between the last check and the signal."),
    NO_EXEMPTIONS("All rules act, also on protected programs and exempt users of this machine."),
    NOT_ALL_LISTED("All rules act. The list has 100 problems; those of the most frequent codes are cut first."),
    MEMORY_ONLY(
            "All rules act. The service keeps what happens in memory only, so its next run does not know it. It tries again in every cycle, or only after a restart if the start could not read the journal."),
    REPORTED_ONLY("All rules act.");

    private final String text;

    ProblemConsequence(String text) {
        this.text = text;
    }

    /** The name in JSON, such as {@code read_only}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Sentences for an administrator, with code in Markdown's backquotes. */
    public String text() {
        return text;
    }
}

package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Rule.RuleCheck;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A violation of a rule.
 *
 * @param host the host; null if several machines are part of it
 * @param hosts all machines that are part of it
 * @param subject what violates the rule, in a form that stays the same from cycle to cycle, and is short enough to be stored
 * @param user the user of the environment; without an active environment, that of the process; null if no name is known
 * @param devices the indices of its devices, ascending
 */
public record Violation(
        RuleDefinition rule,
        @Nullable String host,
        Set<String> hosts,
        String subject,
        String message,
        @Nullable String user,
        @Nullable String environment,
        List<Integer> devices,
        List<GpuProcess> processes) {

    private static final Set<SnapshotPart> WHO_RUNS_WHERE =
            Set.of(SnapshotPart.PROCESSES, SnapshotPart.EVERY_PROCESS, SnapshotPart.ENVIRONMENTS);

    public Violation(
            RuleDefinition rule,
            String host,
            String subject,
            String message,
            @Nullable String user,
            @Nullable String environment,
            List<Integer> devices,
            List<GpuProcess> processes) {
        this(rule, host, Set.of(host), subject, message, user, environment, devices, processes);
    }

    public Violation {
        subject = SafeText.cut(subject);
        hosts = Set.copyOf(hosts);
        devices = List.copyOf(devices);
        processes = List.copyOf(processes);
    }

    /**
     * Returns a violation by a single process.
     *
     * @param environment the active one that it names; null if it names none
     */
    static Violation of(
            GpuProcess process,
            @Nullable Environment environment,
            List<Integer> devices,
            String message,
            Snapshot host,
            RuleCheck check) {
        return new Violation(
                check.rule(),
                host.host(),
                subjectOf(process.id()),
                Messages.on(check.fleet(), host.host()) + message,
                environment == null ? process.userName() : environment.user().orElse(null),
                process.environmentId().orElse(null),
                devices,
                List.of(process));
    }

    public Violation alsoOn(Set<String> more) {
        if (hosts.containsAll(more)) {
            return this;
        }
        var all = new HashSet<>(hosts);
        all.addAll(more);
        return new Violation(rule, host, all, subject, message, user, environment, devices, processes);
    }

    /** Returns the same violation with what else is known of its processes. */
    public Violation with(List<GpuProcess> others) {
        return new Violation(rule, host, hosts, subject, message, user, environment, devices, others);
    }

    /**
     * Returns the user for whom it counts: the user; without one, or if only the uid of the process decides, that of the process. The recorded
     * user of an environment has not caused a violation of a stranger. Null if nobody is known.
     */
    public @Nullable String countedUser() {
        if (processes.isEmpty() || (user != null && !rule.isEnforcedByUids())) {
            return user == null ? null : SafeText.bounded(user);
        }
        return processes.getFirst().userOrUid();
    }

    /** Whether it is a violation of a user, or one of a process of the user. */
    public boolean isOfUser(String name) {
        return name.equals(user) || processes.stream().anyMatch(process -> name.equals(process.userOrUid()));
    }

    /** Returns the subject of a violation by a single process. */
    public static String subjectOf(ProcessId process) {
        return "process %d %d".formatted(process.pid(), process.startTime());
    }

    /** Whether this process alone violates the rule. */
    public boolean isOf(GpuProcess process) {
        return subject.equals(subjectOf(process.id()));
    }

    /** The key, which is the same in every cycle. The key of a violation that spans the fleet names no machine. */
    public Key key() {
        return new Key(rule, rule.isOfFleet() ? null : host, subject);
    }

    /**
     * The parts of a machine that must have been observed before the violation is resolved because it was not found. A process may
     * be missing in an incomplete list, and without the environments its membership is unknown.
     */
    public Set<SnapshotPart> requiredParts() {
        if (processes.isEmpty()) {
            return rule.requiredParts();
        }
        var parts = EnumSet.copyOf(WHO_RUNS_WHERE);
        parts.addAll(rule.requiredParts());
        return parts;
    }

    /** What identifies a violation. */
    public record Key(RuleDefinition rule, @Nullable String host, String subject) {}
}

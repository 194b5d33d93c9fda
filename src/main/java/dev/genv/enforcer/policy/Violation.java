package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Part;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A rule that is broken.
 *
 * @param host where; null where several machines have a part in it
 * @param hosts all machines that have a part in it
 * @param subject what breaks it, in a form that stays the same from cycle to cycle
 * @param message the words that people read and grep for
 * @param user whose environment it is, where there is one
 * @param devices the indices of the devices it is about, ascending
 * @param processes the processes it is about
 */
public record Violation(
        RuleName rule,
        @Nullable String host,
        Set<String> hosts,
        String subject,
        String message,
        @Nullable String user,
        @Nullable String environment,
        List<Integer> devices,
        List<GpuProcess> processes) {

    private static final Set<Part> WHO_RUNS_WHERE = Set.of(Part.PROCESSES, Part.EVERY_PROCESS, Part.ENVIRONMENTS);

    /** One that a single machine has. */
    public Violation(
            RuleName rule,
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
        hosts = Set.copyOf(hosts);
        devices = List.copyOf(devices);
        processes = List.copyOf(processes);
    }

    /** The same, in which further machines have a part. */
    public Violation alsoOn(Set<String> more) {
        if (hosts.containsAll(more)) {
            return this;
        }
        var all = new HashSet<>(hosts);
        all.addAll(more);
        return new Violation(rule, host, all, subject, message, user, environment, devices, processes);
    }

    /** The same trouble in two cycles has the same key. A user's quota belongs to no single machine. */
    public Key key() {
        return new Key(rule, rule == RuleName.MAX_DEVICES_PER_USER ? null : host, subject);
    }

    /** What must be seen of a machine before this, no longer found there, is over: what its rule needs to find it. */
    public Set<Part> shownBy() {
        return switch (rule) {
            case NON_ENV_PROCESSES, INACTIVE_ENV_PROCESSES -> WHO_RUNS_WHERE;
            case ENV_OWNER -> processes.isEmpty() ? Set.of(Part.ENVIRONMENTS) : WHO_RUNS_WHERE;
            case ENV_DEVICES, ENV_MEMORY, MAX_DEVICES_PER_USER -> Set.of(Part.values());
        };
    }

    /** What makes two violations the same one. */
    public record Key(RuleName rule, @Nullable String host, String subject) {}
}

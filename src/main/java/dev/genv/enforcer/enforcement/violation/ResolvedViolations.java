package dev.genv.enforcer.enforcement.violation;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.workload.Workload;
import dev.genv.enforcer.policy.plan.Violation;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The latest resolved violations. Users influence their number and their texts, so both are bounded. */
final class ResolvedViolations {
    /** Estimated heap: enough for ten thousand entries with texts of genv's usual length. */
    static final long MAX_BYTES = 16L << 20;

    /** The estimated size of an entry without its texts and processes. */
    private static final int ENTRY = 400;

    private static final int PROCESS = 160;
    private static final int ACTION = 120;
    /** With the number of a Slurm job. */
    private static final int WORKLOAD = 240;

    private static final int NUMBER = 24;
    private static final int TEXT = 48;
    private static final int BYTES_PER_CHAR = 2;

    private final int most;
    private final long maxBytes;
    private final Deque<ViolationRecord> newestFirst = new ArrayDeque<>();
    private long bytes;

    ResolvedViolations(int most, long maxBytes) {
        this.most = most;
        this.maxBytes = maxBytes;
    }

    /** Adds an entry, and drops the oldest ones above the limits. */
    void add(ViolationRecord entry) {
        newestFirst.addFirst(entry);
        bytes += size(entry);
        while (newestFirst.size() > most || bytes > maxBytes) {
            bytes -= size(newestFirst.removeLast());
        }
    }

    /** Removes the newest entry with this key. */
    Optional<ViolationRecord> remove(Violation.Key key) {
        var found = newestFirst.stream()
                .filter(entry -> entry.violation().key().equals(key))
                .findFirst();
        found.ifPresent(entry -> {
            newestFirst.remove(entry);
            bytes -= size(entry);
        });
        return found;
    }

    Stream<ViolationRecord> stream() {
        return newestFirst.stream();
    }

    /** The estimated heap that an entry takes. */
    static long size(ViolationRecord entry) {
        var violation = entry.violation();
        var change = entry.change();
        return ENTRY
                + size(violation.message())
                + size(violation.subject())
                + size(violation.user())
                + size(violation.environment())
                + violation.hosts().stream().mapToLong(ResolvedViolations::size).sum()
                + NUMBER * (long) violation.devices().size()
                + violation.processes().stream()
                        .mapToLong(ResolvedViolations::size)
                        .sum()
                + entry.actions().stream().mapToLong(ResolvedViolations::size).sum()
                + (change == null ? 0 : size(change.before()) + size(change.after()));
    }

    private static long size(GpuProcess process) {
        var eid = process.membership() instanceof Membership.InEnvironment(var id) ? id : null;
        return PROCESS
                + NUMBER * (long) process.usage().size()
                + size(process.command())
                + size(eid)
                + size(process.workload());
    }

    private static long size(@Nullable Workload workload) {
        if (workload == null) {
            return 0;
        }
        var container = workload.container();
        var pod = workload.pod();
        return WORKLOAD
                + size(workload.unit())
                + (container == null ? 0 : size(container.id()))
                + (pod == null
                        ? 0
                        : size(pod.uid()) + size(pod.namespace()) + size(pod.name()) + size(pod.container()));
    }

    private static long size(ViolationRecord.ActionNote action) {
        return ACTION + size(action.environment()) + size(action.detail());
    }

    private static long size(@Nullable String text) {
        return text == null ? 0 : TEXT + BYTES_PER_CHAR * (long) text.length();
    }
}

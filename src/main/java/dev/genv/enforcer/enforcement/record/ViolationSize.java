package dev.genv.enforcer.enforcement.record;

import dev.genv.enforcer.enforcement.record.ViolationRecord.NextAction;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.Membership;
import org.jspecify.annotations.Nullable;

/** The estimated heap of violations, whose texts users choose. */
public final class ViolationSize {
    /** The estimated size of an entry without its texts and processes. */
    private static final int ENTRY = 400;

    private static final int PROCESS = 160;
    private static final int WORKLOAD = 160;
    private static final int ACTION = 120;
    private static final int NUMBER = 24;
    private static final int TEXT = 48;
    private static final int BYTES_PER_CHAR = 2;

    private ViolationSize() {}

    /** The estimated heap that an entry takes. */
    public static long of(ViolationRecord entry) {
        var violation = entry.violation();
        return ENTRY
                + of(violation.message())
                + of(violation.subject())
                + of(violation.user())
                + of(violation.environment())
                + violation.hosts().stream().mapToLong(ViolationSize::of).sum()
                + NUMBER * (long) violation.devices().size()
                + violation.processes().stream().mapToLong(ViolationSize::of).sum()
                + entry.actions().stream().mapToLong(ViolationSize::of).sum()
                + entry.next().stream().mapToLong(ViolationSize::of).sum();
    }

    private static long of(GpuProcess process) {
        var eid = process.membership() instanceof Membership.InEnvironment(var id) ? id : null;
        return PROCESS
                + NUMBER * (long) process.usage().size()
                + of(process.command())
                + of(process.account())
                + of(eid)
                + of(process.workload());
    }

    private static long of(@Nullable Workload workload) {
        if (workload == null) {
            return 0;
        }
        var container = workload.container();
        var pod = workload.pod();
        var job = workload.slurmJob();
        return WORKLOAD
                + of(workload.unit())
                + (container == null ? 0 : of(container.id()))
                + (pod == null ? 0 : of(pod.uid()))
                + (job == null ? 0 : of(job.id()));
    }

    private static long of(ViolationRecord.ActionNote action) {
        return ACTION + of(action.target().host()) + of(action.target().detached()) + of(action.detail());
    }

    private static long of(NextAction action) {
        return ACTION + of(action.target().host()) + of(action.target().detached());
    }

    public static long of(@Nullable String text) {
        return text == null ? 0 : TEXT + BYTES_PER_CHAR * (long) text.length();
    }
}

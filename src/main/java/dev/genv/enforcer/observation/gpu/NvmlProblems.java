package dev.genv.enforcer.observation.gpu;

import dev.genv.enforcer.facts.NvmlFacts;
import dev.genv.enforcer.format.gpu.ToolException;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;

/** Converts errors of NVML into problems. */
final class NvmlProblems {
    // nvmlReturn_t of nvml.h
    private static final int NO_PERMISSION = 4;
    private static final int GPU_IS_LOST = 15;
    private static final int RESET_REQUIRED = 16;

    private NvmlProblems() {}

    static boolean isLost(NvmlFacts.Fault<?> fault) {
        return fault.code() == GPU_IS_LOST || fault.code() == RESET_REQUIRED;
    }

    /** Returns the problem of a device that cannot be looked up: what runs on it is unknown. */
    static Problem of(int index, NvmlFacts.Fault<?> fault) {
        return new Problem(
                ProblemCode.GPU_LOST,
                "NVML returned %d for device %d (%s): the processes on that GPU are unknown; reset it or reboot"
                        .formatted(fault.code(), index, fault.function()));
    }

    /** Returns the problem of a device whose processes are not listed. */
    static Problem ofProcesses(int index, NvmlFacts.Fault<?> fault) {
        if (isLost(fault)) {
            return of(index, fault);
        }
        return fault.code() == NO_PERMISSION
                ? new Problem(
                        ProblemCode.GPU_PROCESS_HIDDEN,
                        "NVML returned %d for device %d (%s): a process on a MIG device is hidden from an unprivileged container"
                                .formatted(fault.code(), index, fault.function()))
                : new Problem(
                        ProblemCode.GPU_LINE_UNREADABLE,
                        "NVML returned %d for device %d (%s): the processes on that GPU are unknown"
                                .formatted(fault.code(), index, fault.function()));
    }

    static ToolException of(NvmlFacts.Failed failed) {
        return new ToolException(failed.reason());
    }
}

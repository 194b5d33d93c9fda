package dev.genv.enforcer.observation.gpu;

import dev.genv.enforcer.facts.NvmlFacts;
import dev.genv.enforcer.facts.NvmlFacts.Cause;
import dev.genv.enforcer.facts.NvmlFacts.Fault;
import dev.genv.enforcer.format.gpu.GpuQuery;
import dev.genv.enforcer.format.gpu.NvmlCode;
import dev.genv.enforcer.format.gpu.ToolException;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import java.util.Locale;
import java.util.Optional;

/** Converts errors of NVML into the problems that nvidia-smi's messages for the same errors give. */
final class NvmlProblems {
    private NvmlProblems() {}

    /** Whether what runs on the GPU is unknown until it is reset. */
    static boolean isLost(Fault<?> fault) {
        return NvmlCode.extentOf(fault.code()) == NvmlCode.Extent.GPU;
    }

    /** Returns the problem of a GPU that cannot be looked up. */
    static Problem ofGpu(int index, Fault<?> fault) {
        return fault.code() == NvmlCode.NO_PERMISSION.number()
                ? new Problem(
                        ProblemCode.GPU_ACCESS_DENIED,
                        describe(index, fault) + ": give the container the device with --device /dev/nvidia" + index)
                : new Problem(
                        ProblemCode.GPU_LOST,
                        describe(index, fault) + ": the processes on that GPU are unknown; reset it or reboot");
    }

    /** Returns the problem of a GPU whose processes are not listed. */
    static Problem ofProcesses(int index, Fault<?> fault) {
        if (isLost(fault)) {
            return ofGpu(index, fault);
        }
        return fault.code() == NvmlCode.NO_PERMISSION.number()
                ? new Problem(
                        ProblemCode.GPU_PROCESS_HIDDEN,
                        describe(index, fault)
                                + ": the processes on MIG devices are hidden from an unprivileged container")
                : new Problem(
                        ProblemCode.GPU_LINE_UNREADABLE,
                        describe(index, fault) + ": the processes on that GPU are unknown");
    }

    /** Returns the exception for a reading without a list. */
    static ToolException of(NvmlFacts.Failed failed) {
        var code = NvmlCode.of(failed.code()).filter(_ -> failed.cause() == Cause.ERROR);
        return code.map(known -> switch (known) {
                    // What a container gets whose access was taken away.
                    case UNKNOWN, OPERATING_SYSTEM ->
                        new ToolException(
                                ProblemCode.GPU_NEEDS_NEW_CONTAINER,
                                failed.reason() + ": " + GpuQuery.NEW_CONTAINER,
                                null);
                    case GPU_IS_LOST ->
                        new ToolException(ProblemCode.GPU_LOST, failed.reason() + ": reset the GPU or reboot", null);
                    default -> new ToolException(failed.reason());
                })
                .orElseGet(() -> new ToolException(failed.reason()));
    }

    /**
     * Returns how NVML says that this process may not use the GPUs; empty if it says something else.
     *
     * @param driverIsLoaded whether the kernel has the driver, so that NVML would find it
     */
    static Optional<String> denial(NvmlFacts.Failed failed, boolean driverIsLoaded) {
        return NvmlCode.of(failed.code())
                .filter(_ -> failed.cause() == Cause.ERROR)
                .filter(code -> switch (code) {
                    case NO_PERMISSION, OPERATING_SYSTEM, UNKNOWN -> true;
                    case DRIVER_NOT_LOADED -> driverIsLoaded;
                    default -> false;
                })
                .map(_ -> failed.reason());
    }

    private static String describe(int index, Fault<?> fault) {
        var name = NvmlCode.of(fault.code())
                .map(code -> code.name().toLowerCase(Locale.ROOT).replace('_', ' '))
                .orElse("unknown error");
        return "%s returned %d (%s) for device %d".formatted(fault.function(), fault.code(), name, index);
    }
}

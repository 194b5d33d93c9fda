package dev.genv.enforcer.gpu;

import dev.genv.enforcer.model.ProblemCode;
import java.util.List;
import java.util.Optional;

/** The queries to nvidia-smi, and whether it answered them. */
public final class GpuQuery {
    public static final String FORMAT = "--format=csv,noheader,nounits";
    /**
     * {@code memory.used} is without what the driver reserves for itself ({@code memory.reserved}), which older drivers do not know as
     * a field.
     */
    public static final String DEVICES = "--query-gpu=index,uuid,memory.used";

    /** A query of its own, so that a driver that does not know one of these fields still answers the others. */
    public static final String STATUS = "--query-gpu=index,memory.used,memory.total,temperature.gpu,utilization.gpu";

    public static final String PROCESSES = "--query-compute-apps=gpu_uuid,pid,used_gpu_memory";
    private static final String NO_DEVICES = "No devices were found";
    private static final int NO_DEVICES_EXIT_CODE = 6;
    private static final int NO_DRIVER_EXIT_CODE = 9;
    private static final int BLOCKED_EXIT_CODE = 17;
    private static final String NO_ACCESS = "Failed to initialize NVML: Unknown Error";
    private static final String NO_PERMISSION = "Failed to initialize NVML: Insufficient Permissions";
    /** What to do about access that was lost. */
    public static final String NEW_CONTAINER =
            "this container has lost its access to the GPUs, as systemctl daemon-reload"
                    + " takes it away, and must be recreated; on a plain host, load the driver again or reboot";

    private GpuQuery() {}

    /**
     * Returns the lines of an answer; empty if there are no devices.
     *
     * @throws ToolException if it is no answer
     */
    public static List<String> lines(int exitCode, String stdout, String stderr) throws ToolException {
        if (foundNoDevices(exitCode, stdout)) {
            return List.of();
        }
        if (exitCode != 0) {
            throw failure(exitCode, firstLine(stdout, stderr));
        }
        return stdout.lines().filter(line -> !line.isBlank()).toList();
    }

    /** Whether nvidia-smi reports that there are no devices, as opposed to devices without processes. */
    public static boolean foundNoDevices(int exitCode, String stdout) {
        return (exitCode == 0 || exitCode == NO_DEVICES_EXIT_CODE)
                && stdout.strip().lines().limit(1).anyMatch(line -> line.strip().equals(NO_DEVICES));
    }

    /**
     * Returns how nvidia-smi says that this process may not use the GPUs; empty if it says something else. Its exit code is that of NVML.
     *
     * @param driverIsLoaded whether the kernel has the driver, so that nvidia-smi would find it
     */
    public static Optional<String> denial(int exitCode, String stdout, String stderr, boolean driverIsLoaded) {
        var output = firstLine(stdout, stderr);
        var denied = output.startsWith(NO_ACCESS)
                || output.startsWith(NO_PERMISSION)
                || exitCode == BLOCKED_EXIT_CODE
                || (driverIsLoaded && exitCode == NO_DRIVER_EXIT_CODE);
        return exitCode != 0 && denied ? Optional.of(message(exitCode, output)) : Optional.empty();
    }

    private static String firstLine(String stdout, String stderr) {
        return (stdout.isBlank() ? stderr : stdout).strip().lines().findFirst().orElse("it printed nothing");
    }

    private static String message(int exitCode, String output) {
        return "nvidia-smi exited with %d: %s".formatted(exitCode, GpuToolProblems.shorten(output));
    }

    private static ToolException failure(int exitCode, String output) {
        var message = message(exitCode, output);
        if (output.startsWith(NO_ACCESS)) {
            return new ToolException(ProblemCode.GPU_NEEDS_NEW_CONTAINER, message + ": " + NEW_CONTAINER, null);
        }
        return output.contains(GpuToolProblems.NO_HANDLE)
                ? new ToolException(ProblemCode.GPU_LOST, message + ": " + GpuToolProblems.LOST, null)
                : new ToolException(message);
    }
}

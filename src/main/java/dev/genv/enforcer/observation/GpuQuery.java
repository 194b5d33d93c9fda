package dev.genv.enforcer.observation;

import dev.genv.enforcer.model.ProblemCode;
import java.util.List;
import java.util.Optional;

/** What is asked of nvidia-smi, and whether it answered. */
public final class GpuQuery {
    public static final String FORMAT = "--format=csv,noheader,nounits";
    public static final String DEVICES = "--query-gpu=index,uuid,memory.total";
    public static final String PROCESSES = "--query-compute-apps=gpu_uuid,pid,used_gpu_memory";
    private static final String NO_DEVICES = "No devices were found";
    private static final int NO_DEVICES_EXIT_CODE = 6;
    private static final String NO_ACCESS = "Failed to initialize NVML: Unknown Error";
    private static final String NEW_CONTAINER =
            "this container has lost its access to the GPUs, as systemctl daemon-reload"
                    + " takes it away, and must be recreated; on a plain host, load the driver again or reboot";

    private GpuQuery() {}

    /**
     * The lines of an answer; none where there are no devices.
     *
     * @throws ToolException where it is none
     */
    public static List<String> lines(int exitCode, String stdout, String stderr) throws ToolException {
        if (foundNoDevices(exitCode, stdout)) {
            return List.of();
        }
        var lines = stdout.lines().filter(line -> !line.isBlank()).toList();
        if (exitCode != 0) {
            var said =
                    Optional.of(stdout.strip()).filter(text -> !text.isEmpty()).orElse(stderr.strip());
            throw failure(exitCode, said.lines().findFirst().orElse("it said nothing"));
        }
        return lines;
    }

    /** Whether the answer is that there are no devices, which is another one than that nothing runs on them. */
    public static boolean foundNoDevices(int exitCode, String stdout) {
        var first = stdout.lines().filter(line -> !line.isBlank()).findFirst();
        return first.isPresent()
                && first.get().strip().equals(NO_DEVICES)
                && (exitCode == 0 || exitCode == NO_DEVICES_EXIT_CODE);
    }

    private static ToolException failure(int exitCode, String said) {
        var message = "nvidia-smi ended with %d: %s".formatted(exitCode, GpuComplaints.shown(said));
        if (said.startsWith(NO_ACCESS)) {
            return new ToolException(ProblemCode.GPU_NEEDS_NEW_CONTAINER, message + ": " + NEW_CONTAINER, null);
        }
        return said.contains(GpuComplaints.NO_HANDLE)
                ? new ToolException(ProblemCode.GPU_LOST, message + ": " + GpuComplaints.LOST, null)
                : new ToolException(message);
    }
}

package dev.genv.enforcer.e2e.fault;

import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;

/** Faults of nvidia-smi and of its output. */
final class ToolFaults {
    private static final String FAILED = "gpu_tool_failed";
    private static final String THIRD_GPU = FakeNvidiaSmi.uuid(2);

    private ToolFaults() {}

    static List<Fault> failing() {
        return List.of(
                Fault.preventingTermination(
                        "nvidia-smi is missing",
                        node -> Files.move(node.node.gpus.path(), movedTool(node)),
                        node -> Files.move(movedTool(node), node.node.gpus.path()),
                        FAILED),
                Fault.preventingTermination(
                        "nvidia-smi is not executable",
                        node -> setMode(node, "rw-r--r--"),
                        node -> setMode(node, "rwxr-xr-x"),
                        FAILED),
                toolFailure("exits with 9, because there is no driver", "exit 9", FAILED),
                toolFailure(
                        "reports that driver and library do not match",
                        "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18",
                        FAILED),
                toolFailure(
                                "reports `Failed to initialize NVML: Unknown Error`, as in a container without its devices",
                                "echo 'Failed to initialize NVML: Unknown Error'; exit 255",
                                "gpu_needs_new_container")
                        .failingLiveness(),
                toolFailure(
                        "cannot determine the handle of a GPU",
                        "echo 'Unable to determine the device handle for GPU0000:01:00.0: Unknown Error'; exit 15",
                        "gpu_lost"));
    }

    /** GPU_TIMEOUT must be short. */
    static List<Fault> hanging() {
        return List.of(
                toolFailure("hangs", "exec sleep 600", FAILED),
                toolFailure("hangs and ignores signals", "trap '' TERM HUP INT; while :; do sleep 1; done", FAILED),
                toolFailure("closes its output and does not exit", "exec >&- 2>&-; exec sleep 600", FAILED));
    }

    static List<Fault> otherFailures() {
        return List.of(
                toolFailure("is killed", "kill -9 $$", FAILED),
                toolFailure("prints 20 MB", "head -c 20000000 /dev/zero", FAILED),
                toolFailure("prints without end", "exec cat /dev/zero", FAILED),
                toolFailure("writes to stderr without end", "exec cat /dev/zero >&2", FAILED),
                listingFault(
                        "prints unreadable lines between the others",
                        "printf 'a,b\\n\\001\\377,,,\\n%05000d\\n' 1",
                        "gpu_line_unreadable"),
                listingFault("lists a process on an unknown device", line("GPU-x", "1", "10"), "device_unknown"),
                listingFault(
                        "reports no memory, `[N/A]`",
                        "sed 's|, [0-9]*, [0-9]*$|, [N/A]|' \"$0.processes\"; exit 0",
                        "memory_unknown"),
                listingFault(
                        "lists `[GPU is lost]`", line("[GPU is lost]", "[GPU is lost]", "[GPU is lost]"), "gpu_lost"),
                listingFault(
                        "lists `[Insufficient Permissions]`, as with MIG",
                        line(THIRD_GPU, "[Insufficient Permissions]", "[Insufficient Permissions]"),
                        "gpu_process_hidden"),
                listingFault(
                        "lists a negative and a huge pid",
                        line(THIRD_GPU, "-1", "1") + line(THIRD_GPU, "99999999999", "1"),
                        "gpu_line_unreadable"),
                listingFault("writes 1 MB to stderr and answers", "head -c 1000000 /dev/zero >&2"),
                listingFault("leaves a child that keeps its output open", "sleep 3 &"));
    }

    private static Fault toolFailure(String what, String shell, String code) {
        return Fault.preventingTermination(
                "nvidia-smi " + what, node -> node.node.gpus.fault(shell), node -> node.node.gpus.noFault(), code);
    }

    /** The query of processes prints this first, and then the list. */
    private static Fault listingFault(String what, String shell, String... reported) {
        return Fault.harmless(
                "nvidia-smi " + what,
                node -> node.node.gpus.fault("case $1 in *compute-apps*) %s ;; esac".formatted(shell)),
                node -> node.node.gpus.noFault(),
                reported);
    }

    private static String line(String uuid, String pid, String memory) {
        return "echo \"%s, %s, %s\"; ".formatted(uuid, pid, memory);
    }

    private static void setMode(FaultyNode node, String mode) throws IOException {
        Files.setPosixFilePermissions(node.node.gpus.path(), PosixFilePermissions.fromString(mode));
    }

    private static Path movedTool(FaultyNode node) {
        return node.node.gpus.path().resolveSibling("away");
    }
}

package dev.genv.enforcer.e2e;

import dev.genv.enforcer.testsupport.FakeNvidiaSmi;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;

/** What nvidia-smi can do instead of an answer, and what can stand in one. */
final class ToolFaults {
    private static final String FAILED = "gpu_tool_failed";
    private static final String THIRD = FakeNvidiaSmi.uuid(2);

    private ToolFaults() {}

    static List<Fault> failing() {
        return List.of(
                Fault.blinding(
                        "nvidia-smi is missing",
                        node -> Files.move(node.node.gpus.path(), away(node)),
                        node -> Files.move(away(node), node.node.gpus.path()),
                        FAILED),
                Fault.blinding(
                        "nvidia-smi is not executable",
                        node -> mode(node, "rw-r--r--"),
                        node -> mode(node, "rwxr-xr-x"),
                        FAILED),
                failing("exits with 9, because there is no driver", "exit 9", FAILED),
                failing(
                        "reports that driver and library do not match",
                        "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18",
                        FAILED),
                failing(
                                "reports `Failed to initialize NVML: Unknown Error`, as in a container without its devices",
                                "echo 'Failed to initialize NVML: Unknown Error'; exit 255",
                                "gpu_needs_new_container")
                        .thatIsMortal(),
                failing(
                        "cannot determine the handle of a GPU",
                        "echo 'Unable to determine the device handle for GPU0000:01:00.0: Unknown Error'; exit 15",
                        "gpu_lost"));
    }

    /** GPU_TIMEOUT must be short. */
    static List<Fault> hanging() {
        return List.of(
                failing("hangs", "exec sleep 600", FAILED),
                failing("hangs and ignores signals", "trap '' TERM HUP INT; while :; do sleep 1; done", FAILED),
                failing("closes its output and does not exit", "exec >&- 2>&-; exec sleep 600", FAILED));
    }

    static List<Fault> others() {
        return List.of(
                failing("is killed", "kill -9 $$", FAILED),
                failing("prints 20 MB", "head -c 20000000 /dev/zero", FAILED),
                failing("prints without end", "exec cat /dev/zero", FAILED),
                failing("writes to stderr without end", "exec cat /dev/zero >&2", FAILED),
                listing(
                        "prints unreadable lines between the others",
                        "printf 'a,b\\n\\001\\377,,,\\n%05000d\\n' 1",
                        "gpu_line_unreadable"),
                listing("lists a process on an unknown device", line("GPU-x", "1", "10"), "device_unknown"),
                listing(
                        "reports no memory, `[N/A]`",
                        "sed 's|, [0-9]*, [0-9]*$|, [N/A]|' \"$0.processes\"; exit 0",
                        "memory_unknown"),
                listing("lists `[GPU is lost]`", line("[GPU is lost]", "[GPU is lost]", "[GPU is lost]"), "gpu_lost"),
                listing(
                        "lists `[Insufficient Permissions]`, as with MIG",
                        line(THIRD, "[Insufficient Permissions]", "[Insufficient Permissions]"),
                        "gpu_process_hidden"),
                listing(
                        "lists a negative and a huge pid",
                        line(THIRD, "-1", "1") + line(THIRD, "99999999999", "1"),
                        "gpu_line_unreadable"),
                listing("writes 1 MB to stderr and answers", "head -c 1000000 /dev/zero >&2"),
                listing("leaves a child that keeps its output open", "sleep 3 &"));
    }

    private static Fault failing(String what, String shell, String code) {
        return Fault.blinding(
                "nvidia-smi " + what, node -> node.node.gpus.fault(shell), node -> node.node.gpus.noFault(), code);
    }

    /** Where the processes are listed, this comes first, and then all that there is to list. */
    private static Fault listing(String what, String shell, String... told) {
        return Fault.harmless(
                "nvidia-smi " + what,
                node -> node.node.gpus.fault("case $1 in *compute-apps*) %s ;; esac".formatted(shell)),
                node -> node.node.gpus.noFault(),
                told);
    }

    private static String line(String uuid, String pid, String memory) {
        return "echo \"%s, %s, %s\"; ".formatted(uuid, pid, memory);
    }

    private static void mode(FaultyNode node, String mode) throws IOException {
        Files.setPosixFilePermissions(node.node.gpus.path(), PosixFilePermissions.fromString(mode));
    }

    private static Path away(FaultyNode node) {
        return node.node.gpus.path().resolveSibling("away");
    }
}

package dev.genv.enforcer.e2e.fault;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Faults of nvidia-smi and of its output. */
final class ToolFaults {
    private static final String FAILED = "gpu_tool_failed";
    private static final String LOST = "gpu_lost";

    private ToolFaults() {}

    /** GPU_TIMEOUT must be short. */
    static List<Fault> failing() {
        var withoutAccess = toolFailure(
                "reports `Failed to initialize NVML: Unknown Error`, as in a container without its devices",
                "echo 'Failed to initialize NVML: Unknown Error'; exit 255",
                "gpu_needs_new_container");
        withoutAccess.failsLiveness = true;
        return List.of(
                Fault.preventingTermination(
                        "nvidia-smi is missing",
                        node -> Files.move(node.node.gpus.path(), movedTool(node)),
                        node -> Files.move(movedTool(node), node.node.gpus.path()),
                        FAILED),
                withoutAccess,
                toolFailure("hangs and ignores signals", "trap '' TERM HUP INT; while :; do sleep 1; done", FAILED));
    }

    static List<Fault> ofListings() {
        return List.of(
                Fault.harmless(
                        "nvidia-smi prints unreadable lines between the others",
                        node -> node.node.gpus.fault(
                                "case $1 in *compute-apps*) printf 'a,b\\n\\001\\377,,,\\n%05000d\\n' 1 ;; esac"),
                        node -> node.node.gpus.noFault(),
                        "gpu_line_unreadable"),
                Fault.preventingTermination(
                        "nvidia-smi reports `No devices were found` after it listed some",
                        node -> node.node.gpus.gpus(0),
                        ToolFaults::restoreGpus,
                        LOST),
                // The service keeps the list of devices for a minute, unless there is a problem.
                Fault.harmless(
                                "nvidia-smi no longer lists the last GPU",
                                node -> node.node
                                        .gpus
                                        .gpus(FaultyNode.GPUS - 1)
                                        .fault("[ -e \"$0.failed\" ] || { : >\"$0.failed\"; exit 9; }"),
                                ToolFaults::restoreGpus,
                                LOST)
                        .mayAlsoReport(FAILED));
    }

    private static Fault toolFailure(String what, String shell, String code) {
        return Fault.preventingTermination(
                "nvidia-smi " + what, node -> node.node.gpus.fault(shell), node -> node.node.gpus.noFault(), code);
    }

    private static void restoreGpus(FaultyNode node) throws IOException {
        node.node.gpus.noFault().gpus(FaultyNode.GPUS);
    }

    private static Path movedTool(FaultyNode node) {
        return node.node.gpus.path().resolveSibling("away");
    }
}

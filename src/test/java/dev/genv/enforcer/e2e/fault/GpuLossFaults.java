package dev.genv.enforcer.e2e.fault;

import java.io.IOException;
import java.nio.file.Files;
import java.util.List;

/** The output of nvidia-smi after a loss of GPUs. */
final class GpuLossFaults {
    private static final String LOST = "gpu_lost";

    private GpuLossFaults() {}

    static List<Fault> all() {
        return List.of(
                Fault.preventingTermination(
                        "nvidia-smi reports `No devices were found` after it listed some",
                        node -> node.node.gpus.gpus(0),
                        GpuLossFaults::restoreGpus,
                        LOST),
                // The service keeps the list of devices for a minute, unless there is a problem.
                Fault.harmless(
                                "nvidia-smi no longer lists the last GPU",
                                node -> node.node
                                        .gpus
                                        .gpus(FaultyNode.GPUS - 1)
                                        .fault("[ -e \"$0.failed\" ] || { : >\"$0.failed\"; exit 9; }"),
                                node -> {
                                    Files.delete(node.node.gpus.path().resolveSibling("nvidia-smi.failed"));
                                    node.node.gpus.noFault();
                                    restoreGpus(node);
                                },
                                LOST)
                        .mayAlsoReport("gpu_tool_failed"));
    }

    private static void restoreGpus(FaultyNode node) throws IOException {
        node.node.gpus.gpus(FaultyNode.GPUS);
    }
}

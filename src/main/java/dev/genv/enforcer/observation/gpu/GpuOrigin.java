package dev.genv.enforcer.observation.gpu;

import dev.genv.enforcer.facts.GpuFacts;
import dev.genv.enforcer.facts.NvmlFacts;

/**
 * Where facts about the GPUs come from.
 *
 * @param name in sentences
 * @param label in JSON and settings
 * @param reason why this source was taken, as a clause; empty if there is no other
 */
public record GpuOrigin(String name, String label, String reason) {
    static final String NVIDIA_SMI = "nvidia-smi";
    static final String NVML = "NVML";

    public static GpuOrigin of(GpuFacts facts) {
        return switch (facts) {
            case GpuFacts.ToolFacts _ -> new GpuOrigin(NVIDIA_SMI, NVIDIA_SMI, "");
            case NvmlFacts _ -> new GpuOrigin(NVML, "nvml", "");
            case GpuFacts.SelectedFacts(var answer, var reason, var _) -> {
                var origin = of(answer);
                yield new GpuOrigin(origin.name, origin.label, reason);
            }
        };
    }
}

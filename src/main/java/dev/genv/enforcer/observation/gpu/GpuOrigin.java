package dev.genv.enforcer.observation.gpu;

import dev.genv.enforcer.facts.GpuFacts;
import dev.genv.enforcer.facts.NvmlFacts;

/**
 * Where facts about the GPUs come from.
 *
 * @param name in sentences
 * @param label in JSON and settings
 * @param reason why this source was taken, as a clause; empty if there is no other
 * @param driver the version of the driver as the source gives it; empty if it does not
 */
public record GpuOrigin(String name, String label, String reason, String driver) {
    static final String NVIDIA_SMI = "nvidia-smi";
    static final String NVML = "NVML";

    public static GpuOrigin of(GpuFacts facts) {
        return switch (facts) {
            case GpuFacts.ToolFacts _ -> new GpuOrigin(NVIDIA_SMI, NVIDIA_SMI, "", "");
            case NvmlFacts nvml -> new GpuOrigin(NVML, "nvml", "", driver(nvml));
            case GpuFacts.SelectedFacts(var answer, var reason, var _) -> {
                var origin = of(answer);
                yield new GpuOrigin(origin.name, origin.label, reason, origin.driver);
            }
        };
    }

    private static String driver(NvmlFacts facts) {
        return facts instanceof NvmlFacts.Listed(NvmlFacts.Value<String>(var version), var _) ? version : "";
    }
}

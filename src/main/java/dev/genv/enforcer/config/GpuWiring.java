package dev.genv.enforcer.config;

import dev.genv.enforcer.config.settings.GpuSettings;
import dev.genv.enforcer.config.settings.GpuSettings.Source;
import dev.genv.enforcer.node.gpu.GpuSource;
import dev.genv.enforcer.node.gpu.NvidiaSmi;
import dev.genv.enforcer.node.gpu.SourceSelector;
import dev.genv.enforcer.node.gpu.nvml.NvmlSource;

/** Creates the source of the GPUs of the service's own node. */
final class GpuWiring {
    private GpuWiring() {}

    static GpuSource<?> source(GpuSettings settings) {
        var options = new SourceSelector.Options(
                settings.gpuSource() != Source.NVIDIA_SMI, settings.gpuSource() != Source.NVML, settings.nvmlHold());
        return new SourceSelector(
                options,
                new NvmlSource(settings.nvmlLibrary(), settings.gpuTimeout()),
                new NvidiaSmi(settings.nvidiaSmi(), settings.gpuTimeout()));
    }
}

package dev.genv.enforcer.config;

import dev.genv.enforcer.config.settings.GpuSettings.Source;
import dev.genv.enforcer.config.settings.Settings;
import dev.genv.enforcer.node.gpu.GpuSource;
import dev.genv.enforcer.node.gpu.NvidiaSmi;
import dev.genv.enforcer.node.gpu.SourceSelector;
import dev.genv.enforcer.node.gpu.nvml.NvmlSource;
import dev.genv.enforcer.telemetry.genv.GenvCollector.GenvMetrics;

/** Creates the source of the GPUs of the service's own node. */
final class GpuWiring {
    private GpuWiring() {}

    static GpuSource<?> source(Settings settings) {
        var gpu = settings.gpu();
        var options = new SourceSelector.Options(
                gpu.gpuSource() != Source.NVIDIA_SMI, gpu.gpuSource() != Source.NVML, gpu.nvmlHold());
        return settings.general().genvMetrics() == GenvMetrics.OFF
                ? new SourceSelector(
                        options,
                        new NvmlSource(gpu.nvmlLibrary(), gpu.gpuTimeout()),
                        new NvidiaSmi(gpu.nvidiaSmi(), gpu.gpuTimeout()))
                : new SourceSelector(
                        options,
                        NvmlSource.withStatus(gpu.nvmlLibrary(), gpu.gpuTimeout()),
                        NvidiaSmi.withStatus(gpu.nvidiaSmi(), gpu.gpuTimeout()));
    }
}

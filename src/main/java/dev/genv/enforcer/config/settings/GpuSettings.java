package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.config.settings.converters.SettingConverter.ChoiceConverter;
import dev.genv.enforcer.config.settings.converters.Values;
import dev.genv.enforcer.model.device.Memory;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithConverter;
import io.smallrye.config.WithDefault;
import java.time.Duration;
import java.util.List;

/** How the service observes the GPUs. */
@ConfigMapping(prefix = GpuSettings.PREFIX)
public interface GpuSettings {
    /** The prefix of the names of its properties. */
    String PREFIX = "genv.enforcer";

    /**
     * Source of the GPUs and of the processes on them. {@code nvml} is NVIDIA's library, which the service loads; it starts no process in
     * each cycle. {@code auto} takes it if it can be loaded and lists the same as nvidia-smi, and takes nvidia-smi otherwise. The log and
     * {@code /hosts} name the source and the reason. Machines over SSH always use nvidia-smi.
     */
    @WithDefault("auto")
    @WithConverter(SourceConverter.class)
    Source gpuSource();

    /**
     * Path of nvidia-smi, or its name, which the service looks for in the usual folders. The file and every folder above it must
     * belong to root or to the service's own user, and no other user may be able to write to them.
     */
    @WithDefault("nvidia-smi")
    String nvidiaSmi();

    /**
     * Path of NVIDIA's library, or its name, which the service looks for in the usual folders. The same conditions apply as to
     * nvidia-smi.
     */
    @WithDefault("libnvidia-ml.so.1")
    String nvmlLibrary();

    /**
     * Whether NVML stays initialized between cycles. On machines with many GPUs an initialization costs up to half a second of CPU time.
     * While NVML is initialized, the driver cannot be unloaded, and MIG cannot be enabled: set {@code false} before such work.
     */
    @WithDefault("true")
    @WithConverter(Values.TrueOrFalse.class)
    boolean nvmlHold();

    /**
     * Time that one call of nvidia-smi, or one reading by NVML, may take. Increase it if nvidia-smi is slow, for example without persistence mode and
     * with many GPUs.
     */
    @WithDefault("30s")
    @WithConverter(Values.Timeout.class)
    Duration gpuTimeout();

    /**
     * Memory of a GPU that may belong to no listed process. More of it in three observations is a problem, and the service looks for
     * processes that hold the GPU without being listed. Increase it if the driver itself uses more.
     */
    @WithDefault("512mi")
    @WithConverter(Values.OfMemory.class)
    Memory unlistedMemory();

    /** The source of the GPUs and of the processes on them. */
    enum Source {
        /** NVML where it proves itself, nvidia-smi otherwise. */
        AUTO,
        NVML,
        NVIDIA_SMI
    }

    /** Converts a source. */
    @SuppressWarnings("serial")
    final class SourceConverter extends ChoiceConverter<Source> {
        public SourceConverter() {
            super(List.of(Source.values()));
        }

        @Override
        public Source convert(String value) {
            return choose(value);
        }
    }
}

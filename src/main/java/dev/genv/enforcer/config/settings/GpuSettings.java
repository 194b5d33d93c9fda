package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.config.settings.converters.ChoiceConverter;
import dev.genv.enforcer.config.settings.converters.Durations;
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

    /** Source of the GPUs and of the processes on them. Both values mean nvidia-smi, so there is no reason to set it. */
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
     * Time that one call of nvidia-smi may take. Increase it if nvidia-smi is slow, for example without persistence mode and
     * with many GPUs.
     */
    @WithDefault("30s")
    @WithConverter(Durations.Timeout.class)
    Duration gpuTimeout();

    /** The source of the GPUs and of the processes on them. */
    enum Source {
        /** The best available source. */
        AUTO,
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

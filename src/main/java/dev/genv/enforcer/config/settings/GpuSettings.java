package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.model.Memory;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithConverter;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** How the service observes the GPUs. */
@ConfigMapping(prefix = "genv.enforcer")
public interface GpuSettings {
    /**
     * Path of nvidia-smi, or its name, which the service looks for in the usual folders. The file and every folder above it must
     * belong to root or to the service's own user, and no other user may be able to write to them.
     */
    @WithDefault("nvidia-smi")
    String nvidiaSmi();

    /**
     * Time that one call of nvidia-smi may take. Increase it if nvidia-smi is slow, for example without persistence mode and with many
     * GPUs.
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
}

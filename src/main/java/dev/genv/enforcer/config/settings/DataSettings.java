package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.model.Memory;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithConverter;
import io.smallrye.config.WithDefault;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** The database, which holds what the service remembers. */
@ConfigMapping(prefix = "genv.enforcer")
public interface DataSettings {
    /**
     * Folder of the database, which only this service uses. With it, violations, grace periods, pending terminations and recorded
     * observations survive a restart. Unset means that the service keeps the same tables in memory, at most 16 MiB, and a restart
     * forgets them. A single cycle always keeps them in memory. The image sets {@code /var/lib/genv-enforcer}.
     */
    Optional<@WithConverter(Paths.AbsolutePath.class) Path> dataDir();

    /**
     * Largest size of the database in its folder. Three eighths of it are for recorded observations, a quarter for
     * violations, actions and events, and an eighth for the history. Above these limits, the service deletes the oldest entries of the host with the most
     * bytes.
     */
    @WithDefault("256MiB")
    @WithConverter(Values.DataSize.class)
    Memory dataMaxSize();

    /** Age above which the service deletes what it has stored. */
    @WithDefault("90d")
    @WithConverter(Values.Age.class)
    Duration dataMaxAge();
}

package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.model.Memory;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithConverter;
import io.smallrye.config.WithDefault;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** What the service remembers beyond a restart. */
@ConfigMapping(prefix = "genv.enforcer")
public interface JournalSettings {
    /**
     * Folder of the journal, which only this service uses. With it, violations, grace periods and pending terminations survive a
     * restart, and the service records what it observes for replays and reports. Unset means that the service keeps them in memory
     * only and records nothing. A single cycle keeps no journal.
     */
    Optional<@WithConverter(Paths.AbsolutePath.class) Path> journalDir();

    /**
     * Largest size of the journal: half of it is for recorded observations, a quarter for events and a quarter for the state.
     * Above these limits, the service deletes the oldest observations and events, and leaves history out of the state.
     */
    @WithDefault("64MiB")
    @WithConverter(Values.JournalSize.class)
    Memory journalMaxSize();

    /** Age above which the service deletes a part of the journal. */
    @WithDefault("90d")
    @WithConverter(Values.Age.class)
    Duration journalMaxAge();
}

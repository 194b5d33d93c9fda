package dev.genv.enforcer.config;

import dev.genv.enforcer.config.settings.Settings;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.Journal;
import dev.genv.enforcer.journal.DiskJournal;
import dev.genv.enforcer.journal.JournalConfig;
import dev.genv.enforcer.journal.SegmentLimits;
import dev.genv.enforcer.recording.Recorder;
import dev.genv.enforcer.store.Database;
import jakarta.annotation.PreDestroy;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.jboss.logging.Logger;

/** The folder of the journal and of the database, which is in memory if no folder is set. */
@Singleton
public class Storage {
    private static final Logger LOG = Logger.getLogger(Storage.class);
    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

    private final Settings settings;
    private final Optional<Path> directory;
    /** The largest size of the tables without a folder. */
    private static final long MEMORY_BYTES = 16L << 20;

    private final Database database;
    private final Journal journal;
    private final Recorder recorder;

    Storage(Settings settings) {
        this.settings = settings;
        directory = settings.journal().journalDir();
        database = new Database(new Database.Config(
                directory,
                directory.isPresent() ? settings.journal().journalMaxSize().bytes() : MEMORY_BYTES));
        journal = directory
                .<Journal>map(folder ->
                        new DiskJournal(new JournalConfig(folder, limits(), processes(), Enforcer.savedKinds())))
                .orElse(Journal.NONE);
        recorder = new Recorder(database, settings.general().interval(), Ticker.ofSystem());
    }

    /** The database, which is being opened. */
    @Produces
    @Singleton
    Database database() {
        return database;
    }

    /** The journal, after it was read. */
    @Produces
    @Singleton
    Journal journal() {
        return journal;
    }

    @Produces
    @Singleton
    Recorder recorder() {
        return recorder;
    }

    @PreDestroy
    public void close() {
        recorder.close();
        database.close();
        journal.close();
    }

    /** The journal and the recorded observations have a half each, so that one of them cannot displace the other. */
    private SegmentLimits limits() {
        return new SegmentLimits(
                settings.journal().journalMaxSize().bytes() / 2,
                settings.journal().journalMaxAge());
    }

    /**
     * Identifies the processes to which pids and start times refer. On a node these are those of its boot. An agent reports the boot
     * of its machine, so its processes need no identity here.
     */
    private String processes() {
        if (settings.isRemote()) {
            return "machines";
        }
        try {
            return "boot " + Files.readString(BOOT_ID).strip();
        } catch (IOException e) {
            LOG.warnf("The boot of this node cannot be identified, so nothing of its processes is restored: %s", e);
            return "";
        }
    }
}

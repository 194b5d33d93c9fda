package dev.genv.enforcer.config;

import dev.genv.enforcer.config.settings.Settings;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.report.Store;
import dev.genv.enforcer.recording.Recorder;
import dev.genv.enforcer.store.Database;
import dev.genv.enforcer.store.DatabaseStore;
import dev.genv.enforcer.store.Retention;
import jakarta.annotation.PreDestroy;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jboss.logging.Logger;

/** The database, in its folder or in memory. */
@Singleton
public class Storage {
    private static final Logger LOG = Logger.getLogger(Storage.class);
    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

    /** The largest size of the tables without a folder. */
    private static final long MEMORY_BYTES = 16L << 20;

    private final Settings settings;
    private final Database database;
    private final Recorder recorder;

    Storage(Settings settings) {
        Journal.addPriorities();
        this.settings = settings;
        database = new Database(new Database.Config(settings.data().dataDir(), maxBytes()));
        recorder = new Recorder(database, settings.general().interval(), Ticker.ofSystem());
    }

    /** The database, which is being opened. */
    @Produces
    @Singleton
    Database database() {
        return database;
    }

    @Produces
    @Singleton
    Store store() {
        var retention = new Retention(maxBytes(), settings.data().dataMaxAge());
        return new DatabaseStore(database, processes(), Enforcer.savedKinds(), retention);
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
    }

    private long maxBytes() {
        return settings.data().dataDir().isPresent()
                ? settings.data().dataMaxSize().bytes()
                : MEMORY_BYTES;
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

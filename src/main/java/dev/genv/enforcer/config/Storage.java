package dev.genv.enforcer.config;

import dev.genv.enforcer.config.settings.Settings;
import dev.genv.enforcer.enforcement.CycleListener;
import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.record.Journal;
import dev.genv.enforcer.journal.DiskJournal;
import dev.genv.enforcer.journal.DiskPast;
import dev.genv.enforcer.journal.DiskRecording;
import dev.genv.enforcer.journal.JournalConfig;
import dev.genv.enforcer.journal.SegmentLimits;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.recording.FleetRecorder;
import dev.genv.enforcer.recording.FleetRecording;
import dev.genv.enforcer.recording.RecordedPast;
import dev.genv.enforcer.store.Database;
import jakarta.annotation.PreDestroy;
import jakarta.enterprise.context.Dependent;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.jboss.logging.Logger;

/** The folder of the journal, with the journal and the recorded observations; keeps nothing if no folder is set. */
@Singleton
public class Storage implements CycleListener {
    private static final Logger LOG = Logger.getLogger(Storage.class);
    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

    private final Settings settings;
    private final Optional<Path> directory;
    /** The largest size of the tables without a folder. */
    private static final long MEMORY_BYTES = 16L << 20;

    private final Database database;
    private final Journal journal;
    private final Optional<FleetRecording> recording;

    Storage(Settings settings) {
        this.settings = settings;
        directory = settings.data().dataDir();
        database = new Database(new Database.Config(
                directory, directory.isPresent() ? settings.data().dataMaxSize().bytes() : MEMORY_BYTES));
        journal = directory
                .<Journal>map(folder ->
                        new DiskJournal(new JournalConfig(folder, limits(), processes(), Enforcer.savedKinds())))
                .orElse(Journal.NONE);
        recording = directory.map(folder -> new FleetRecording(
                new FleetRecorder(settings.general().interval()), new DiskRecording(folder, limits())));
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
    @Dependent
    Optional<RecordedPast> past() {
        return directory.map(DiskPast::new);
    }

    @Override
    public void record(CycleReport report) {
        recording.ifPresent(each -> each.record(report));
    }

    @Override
    public List<Problem> problems() {
        return recording.map(FleetRecording::problems).orElse(List.of());
    }

    @PreDestroy
    public void close() {
        database.close();
        journal.close();
        recording.ifPresent(FleetRecording::close);
    }

    /** The journal and the recorded observations have a half each, so that one of them cannot displace the other. */
    private SegmentLimits limits() {
        return new SegmentLimits(
                settings.data().dataMaxSize().bytes() / 2, settings.data().dataMaxAge());
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

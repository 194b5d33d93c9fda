package dev.genv.enforcer.config;

import dev.genv.enforcer.config.settings.Settings;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.journal.Journal;
import dev.genv.enforcer.journal.DiskJournal;
import dev.genv.enforcer.journal.JournalConfig;
import dev.genv.enforcer.journal.segment.SegmentLimits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.jboss.logging.Logger;

/** Opens the journal. */
final class JournalWiring {
    private static final Logger LOG = Logger.getLogger(JournalWiring.class);
    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

    private JournalWiring() {}

    /** Returns the journal of the settings, after it was read; one that keeps nothing if no folder is set. */
    static Journal open(Settings settings) {
        return settings.journal()
                .journalDir()
                .<Journal>map(directory -> new DiskJournal(
                        new JournalConfig(directory, limits(settings), processes(settings), Enforcer.savedKinds())))
                .orElse(Journal.NONE);
    }

    /** The journal and the recorded observations have a half each, so that one of them cannot displace the other. */
    static SegmentLimits limits(Settings settings) {
        return new SegmentLimits(
                settings.journal().journalMaxSize().bytes() / 2,
                settings.journal().journalMaxAge());
    }

    /**
     * Identifies the processes to which pids and start times refer. On a node these are those of its boot. An agent reports the boot
     * of its machine, so its processes need no identity here.
     */
    private static String processes(Settings settings) {
        return settings.isRemote()
                ? "machines"
                : bootId().map(id -> "boot " + id).orElse("");
    }

    private static Optional<String> bootId() {
        try {
            return Optional.of(Files.readString(BOOT_ID).strip());
        } catch (IOException e) {
            LOG.warnf("The boot of this node cannot be identified, so nothing of its processes is restored: %s", e);
            return Optional.empty();
        }
    }
}

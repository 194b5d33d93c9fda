package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.record.SavedState.SavedKind;
import java.nio.file.Path;
import java.util.List;

/**
 * The configuration of the journal.
 *
 * @param directory where its files are
 * @param limits for events and state together
 * @param processes identifies the processes that pids and start times refer to, such as the boot of the node. If it is another one
 *     than in the earlier run, or empty, nothing that concerns processes is restored
 * @param kinds the kinds of entries that are saved
 */
public record JournalConfig(Path directory, SegmentLimits limits, String processes, List<SavedKind<?, ?>> kinds) {
    /**
     * The size above which a checkpoint leaves out violations and the history of genv's state. Users choose the size of both. An old
     * segment and the checkpoint of a new one fit into half of the journal; the other half is for events.
     */
    long largestCheckpoint() {
        return limits.half().maxBytes() * 3 / 8;
    }

    /** The size of the changes after which a new checkpoint is due. */
    long largestGrowth() {
        return limits.half().maxBytes() / 4;
    }
}

package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.saved.SavedKind;
import dev.genv.enforcer.journal.segment.SegmentLimits;
import java.nio.file.Path;
import java.util.List;

/**
 * The configuration of the journal.
 *
 * @param directory where its files are
 * @param processes identifies the processes that pids and start times refer to, such as the boot of the node. If it is another one
 *     than in the earlier run, or empty, nothing that concerns processes is restored
 * @param kinds the kinds of entries that are saved
 */
public record JournalConfig(Path directory, SegmentLimits limits, String processes, List<SavedKind<?, ?>> kinds) {}

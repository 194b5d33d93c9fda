package dev.genv.enforcer.journal;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.ActionIntents;
import dev.genv.enforcer.enforcement.record.Journal.CycleCommit;
import dev.genv.enforcer.enforcement.record.SavedState;
import dev.genv.enforcer.enforcement.record.SavedState.SavedCycle;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.testsupport.TestTimeouts;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A result may become known after a cycle has taken its state, and before that state begins a new segment. */
class SegmentChangeTest {
    private static final PlannedAction TERM =
            new PlannedAction(new Action.Terminate("node", process(7).build(), Signal.TERM), List.of(), true);

    @TempDir
    Path directory;

    @Test
    void theResultIsKnownInTheNewSegment() {
        try (var journal = open()) {
            var intents = new ActionIntents(journal, 0, Ticker.ofSystem());
            assertThat(journal.takeRestored()).isPresent();
            intents.begin(List.of(TERM));
            var state = intents.save();
            intents.end(TERM, Result.of(Outcome.ALREADY_GONE));
            assertThat(journal.commit(cycle(state))).isTrue();
        }
        try (var journal = open()) {
            assertThat(journal.takeRestored().orElseThrow().actions())
                    .extracting(ActionRecord::result)
                    .containsExactly(Result.of(Outcome.ALREADY_GONE));
        }
        assertThat(directory.resolve("journal-0000000002.jsonl")).exists();
    }

    private DiskJournal open() {
        var limits = new SegmentLimits(64 << 20, Duration.ofDays(90));
        var config = new JournalConfig(directory, limits, "boot", Enforcer.savedKinds());
        return new DiskJournal(config, TestTimeouts.HANG, TestTimeouts.HANG);
    }

    private static CycleCommit cycle(SavedState state) {
        var at = Instant.parse("2026-11-20T09:22:28Z");
        return new CycleCommit(
                List.of(),
                new SavedCycle(1, 1, Map.of(), 1, 0, at, at, 1, 0),
                state,
                SavedState.EMPTY,
                SavedState.EMPTY);
    }
}

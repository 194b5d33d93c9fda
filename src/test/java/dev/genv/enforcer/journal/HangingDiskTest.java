package dev.genv.enforcer.journal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.Journal.CycleCommit;
import dev.genv.enforcer.enforcement.record.Journal.Restored;
import dev.genv.enforcer.enforcement.record.SavedState;
import dev.genv.enforcer.enforcement.record.SavedState.SavedCycle;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.testsupport.TestTimeouts;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.AbstractMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A write that does not come to its end, as on a hanging disk: here the thread of the journal waits inside of it. */
class HangingDiskTest {
    private static final Duration LIMIT = Duration.ofMillis(100);

    @TempDir
    Path directory;

    private final CountDownLatch release = new CountDownLatch(1);

    @Test
    void theServiceGoesOnAndTheJournalRecovers() {
        try (var journal = new DiskJournal(config(), LIMIT, TestTimeouts.HANG)) {
            assertThat(journal.takeRestored()).isPresent();
            await().untilAsserted(() -> {
                assertThat(journal.commit(cycle(1, Map.of()))).isTrue();
                assertThat(journal.problems()).isEmpty();
            });
            assertThat(journal.commit(cycle(2, new Hanging()))).isFalse();
            assertThat(journal.problems()).extracting(Problem::code).containsExactly(ProblemCode.JOURNAL_UNWRITABLE);
            for (var number = 3; number < 1_000; number++) {
                assertThat(journal.commit(cycle(number, Map.of())))
                        .as("returns at once, and takes no memory")
                        .isFalse();
            }
            release.countDown();
            await().untilAsserted(() -> {
                assertThat(journal.commit(cycle(1_000, Map.of()))).isTrue();
                assertThat(journal.problems()).isEmpty();
            });
        }
        try (var journal = new DiskJournal(config(), LIMIT, TestTimeouts.HANG)) {
            var restored = journal.takeRestored().orElseThrow();
            assertThat(restored.memory())
                    .map(Restored.Memory::cycle)
                    .map(SavedCycle::cycles)
                    .contains(1_000);
            assertThat(restored.lastSequence()).isEqualTo(1_000);
        }
    }

    private JournalConfig config() {
        return new JournalConfig(
                directory, new SegmentLimits(64 << 20, Duration.ofDays(90)), "boot", Enforcer.savedKinds());
    }

    private static CycleCommit cycle(int number, Map<String, Long> ticks) {
        var at = Instant.parse("2026-11-20T09:22:28Z");
        var started = new Event(number, at, new EventContent.ServiceStarted("1", "enforce"));
        return new CycleCommit(
                List.of(started),
                new SavedCycle(number, number, ticks, number, 0, at, at, 0, number),
                SavedState.EMPTY,
                SavedState.EMPTY,
                SavedState.EMPTY);
    }

    /** A state whose reader waits. */
    private final class Hanging extends AbstractMap<String, Long> {
        @Override
        public Set<Entry<String, Long>> entrySet() {
            try {
                release.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            return Set.of();
        }
    }
}

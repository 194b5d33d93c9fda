package dev.genv.enforcer.recording;

import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.testsupport.TestTimeouts;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class FleetRecordingTest {
    private static final Instant BEGIN = Instant.parse("2026-11-22T00:00:00Z");

    private final Memory memory = new Memory();
    private final FleetRecording recording = new FleetRecording(new FleetRecorder(Duration.ofSeconds(10)), memory);

    @AfterEach
    void close() {
        memory.disk.countDown();
        recording.close();
    }

    @Test
    void recordsEachCycle() {
        recording.record(cycle(1, null));

        awaitTypes(RecordType.RECORDING_STARTED, RecordType.HOST_OBSERVED, RecordType.CYCLE_OBSERVED);
    }

    @Test
    void failedCycleObservedNothing() {
        recording.record(cycle(1, "failed"));
        recording.record(cycle(2, null));

        awaitTypes(RecordType.RECORDING_STARTED, RecordType.HOST_OBSERVED, RecordType.CYCLE_OBSERVED);
        assertThat(memory.lines.getLast().json()).contains("\"cycles\":1,");
    }

    /** The cycles return while the first record waits, and the later ones are one record. */
    @Test
    void diskThatHangsDelaysNoCycle() {
        memory.hangs.set(true);
        recording.record(cycle(1, null));
        await().atMost(TestTimeouts.HANG).until(() -> memory.isWaiting);
        for (var number = 2; number < 102; number++) {
            recording.record(cycle(number, null));
        }
        assertThat(recording.problems()).extracting(Problem::code).containsExactly(ProblemCode.RECORDING_UNWRITABLE);
        memory.disk.countDown();

        await().atMost(TestTimeouts.HANG)
                .untilAsserted(() -> assertThat(memory.lines).hasSize(5));
        assertThat(recording.problems()).isEmpty();
        assertThat(memory.lines.getLast().json()).contains("\"cycles\":100,");
    }

    @Test
    void recordsTheWholeStateAfterAFailure() {
        memory.fails.set(true);
        recording.record(cycle(1, null));
        await().atMost(TestTimeouts.HANG)
                .untilAsserted(() -> assertThat(recording.problems())
                        .containsExactly(new Problem(ProblemCode.RECORDING_UNWRITABLE, "no space left on device")));
        recording.record(cycle(2, null));

        awaitTypes(RecordType.RECORDING_STARTED, RecordType.HOST_OBSERVED, RecordType.CYCLE_OBSERVED);
        assertThat(memory.lines.get(1).json()).contains("\"whole\":true");
        await().atMost(TestTimeouts.HANG)
                .untilAsserted(() -> assertThat(recording.problems()).isEmpty());
    }

    @Test
    void recordsTheWholeStateInEachSegment() {
        recording.record(cycle(1, null));
        await().atMost(TestTimeouts.HANG)
                .untilAsserted(() -> assertThat(memory.lines).hasSize(3));
        memory.isFull.set(true);
        recording.record(cycle(1, null));

        await().atMost(TestTimeouts.HANG)
                .untilAsserted(() -> assertThat(memory.lines).hasSize(5));
        assertThat(memory.lines.get(3).json()).contains("\"whole\":true");
    }

    @Test
    void recordsWhatWasHandedOverBeforeItIsClosed() {
        recording.record(cycle(1, null));
        recording.close();

        await().atMost(TestTimeouts.HANG).until(() -> memory.isClosed);
        assertThat(memory.lines).hasSize(3);
    }

    private void awaitTypes(RecordType... types) {
        await().atMost(TestTimeouts.HANG)
                .untilAsserted(() ->
                        assertThat(memory.lines).extracting(RecordedLine::type).containsExactly(types));
    }

    private static CycleReport cycle(int number, @Nullable String error) {
        Snapshot snapshot = host().devices(number).snapshot();
        return new CycleReport(
                BEGIN.plusSeconds(10L * number),
                Duration.ZERO,
                CycleResult.SUCCESS,
                new Fleet(List.of(snapshot), false),
                List.of(),
                Plan.EMPTY,
                List.of(),
                List.of(),
                error);
    }

    /** A disk that hangs or fails when it is told to. */
    private static final class Memory implements RecordWriter {
        private final List<RecordedLine> lines = Collections.synchronizedList(new ArrayList<>());
        private final AtomicBoolean hangs = new AtomicBoolean();
        private final AtomicBoolean fails = new AtomicBoolean();
        private final AtomicBoolean isFull = new AtomicBoolean();
        private final CountDownLatch disk = new CountDownLatch(1);
        private volatile boolean isWaiting;
        private volatile boolean isClosed;

        @Override
        public boolean isSegmentDue(Instant now) {
            return isFull.get();
        }

        @Override
        public void append(Instant at, List<RecordedLine> more) throws IOException {
            if (hangs.getAndSet(false)) {
                isWaiting = true;
                try {
                    disk.await();
                } catch (InterruptedException e) {
                    throw new IOException(e);
                }
            }
            if (fails.getAndSet(false)) {
                throw new IOException("no space left on device");
            }
            lines.addAll(more);
        }

        @Override
        public void close() {
            isClosed = true;
        }
    }
}

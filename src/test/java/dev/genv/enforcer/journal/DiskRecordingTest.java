package dev.genv.enforcer.journal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.recording.FleetRecorder;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Recorded observations on the disk. */
class DiskRecordingTest extends RecordingFixture {
    @Test
    void readsBackWhatWasRecorded() throws IOException {
        record(node(1), node(2), node(2), node(3));

        var cycles = read(BEGIN);

        assertThat(cycles).hasSize(3);
        assertThat(cycles.getLast().at()).isEqualTo(BEGIN.plus(INTERVAL.multipliedBy(4)));
        assertThat(cycles.getLast().snapshots()).containsEntry("here", node(3));
        assertThat(past().begin()).contains(BEGIN.plus(INTERVAL));
    }

    @Test
    void nextRunContinuesInTheSameSegment() throws IOException {
        record(node(1));
        restart();
        record(node(2));

        assertThat(segments()).hasSize(1);
        assertThat(read(BEGIN)).hasSize(2);
        assertThat(read(BEGIN).getLast().since()).isZero();
        assertThat(read(BEGIN).getLast().snapshots()).containsEntry("here", node(2));
    }

    @Test
    void oldSegmentsAreDeletedAndTheOthersAreComplete() throws IOException {
        open(new SegmentLimits(8 * (64 << 10), Duration.ofDays(90)));
        for (var cycle = 0; cycle < 6_000; cycle++) {
            record(node(cycle));
        }

        assertThat(segments()).hasSizeBetween(2, 9);
        assertThat(segments().getFirst().getFileName()).hasToString("recording-%010d.jsonl".formatted(firstNumber()));
        assertThat(firstNumber()).isGreaterThan(1);
        assertThat(bytes()).isLessThan(9 * (70 << 10));
        var cycles = read(BEGIN);
        assertThat(cycles.getFirst().snapshots().values()).allMatch(Snapshot::isComplete);
        assertThat(cycles.getLast().snapshots()).containsEntry("here", node(5_999));
        assertThat(past().begin()).contains(cycles.getFirst().at());
    }

    @Test
    void oldSegmentsAreDeletedByAge() throws IOException {
        open(new SegmentLimits(64 << 20, Duration.ofDays(8)));
        for (var day = 0; day < 30; day++) {
            now = BEGIN.plus(Duration.ofDays(day));
            record(node(day));
        }

        assertThat(read(BEGIN).getFirst().at()).isAfter(BEGIN.plus(Duration.ofDays(15)));
    }

    @Test
    void secondServiceRecordsNothing() throws IOException {
        record(node(1));
        try (var second = new DiskRecording(folder, LARGE)) {
            var lines = new FleetRecorder(INTERVAL).record(now, List.of(node(9)), 1);

            assertThatThrownBy(() -> second.append(now, lines)).hasMessageContaining("another service uses");
        }
        record(node(2));
        assertThat(read(BEGIN)).hasSize(2);
    }

    @Test
    void continuesInANewFolderAfterAReport() throws IOException {
        record(node(1));
        Files.delete(segments().getFirst());
        assertThatThrownBy(() -> record(node(2))).hasMessageContaining("deleted, replaced or cut off");
        recorder.restart();
        record(node(3));
        assertThat(read(BEGIN)).hasSize(1);
    }

    @Test
    void otherFilesOfTheJournalAreNoSegments() throws IOException {
        Files.writeString(folder.resolve("journal-0000000001.jsonl"), "x\n");
        Files.writeString(folder.resolve("recording-1.jsonl"), "x\n");
        record(node(1));

        assertThat(read(BEGIN)).hasSize(1);
        assertThat(folder.resolve("recording-0000000001.jsonl")).exists();
    }
}

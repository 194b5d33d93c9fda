package dev.genv.enforcer.journal;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.journal.segment.SegmentLimits;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.recording.FleetRecorder;
import dev.genv.enforcer.recording.RecordedCycle;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Recorded observations on the disk. */
class DiskRecordingTest {
    private static final Duration INTERVAL = Duration.ofSeconds(10);
    private static final Instant BEGIN = Instant.parse("2026-11-22T00:00:00Z");
    private static final SegmentLimits LARGE = new SegmentLimits(64 << 20, Duration.ofDays(90));

    @TempDir
    Path folder;

    private FleetRecorder recorder = new FleetRecorder(INTERVAL);
    private DiskRecording disk;
    private Instant now = BEGIN;

    @BeforeEach
    void open() {
        disk = new DiskRecording(folder, LARGE);
    }

    @AfterEach
    void close() throws IOException {
        disk.close();
    }

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
    void readingEndsAmongRecordsThatEndNoCycle() throws IOException {
        record(node(1), node(2), node(3));
        var asked = new AtomicInteger();

        past().readCycles(BEGIN, () -> asked.incrementAndGet() == 2, cycle -> {
            throw new AssertionError("the second record ends no cycle: " + cycle);
        });

        assertThat(asked).hasValue(2);
    }

    @Test
    void emptyFolderHasNoPast() throws IOException {
        assertThat(past().begin()).isEmpty();
        assertThat(read(BEGIN)).isEmpty();
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

        assertThat(read(BEGIN).getFirst().at()).isAfter(BEGIN.plus(Duration.ofDays(18)));
    }

    @Test
    void readsOnlyTheSegmentsOfThePeriod() throws IOException {
        open(new SegmentLimits(64 << 20, Duration.ofDays(80)));
        for (var day = 0; day < 60; day++) {
            now = BEGIN.plus(Duration.ofDays(day));
            record(node(day));
        }

        var cycles = read(BEGIN.plus(Duration.ofDays(55)));

        assertThat(cycles.getFirst().at()).isBetween(BEGIN.plus(Duration.ofDays(43)), BEGIN.plus(Duration.ofDays(55)));
        assertThat(cycles.getLast().at()).isAfter(BEGIN.plus(Duration.ofDays(59)));
    }

    @Test
    void tornLastLineCostsThatLine() throws IOException {
        record(node(1), node(2));
        disk.close();
        var file = segments().getFirst();
        var content = Files.readAllBytes(file);
        Files.write(file, Arrays.copyOf(content, content.length - 20));

        assertThat(read(BEGIN)).hasSize(1);

        restart();
        record(node(3));
        assertThat(read(BEGIN)).hasSize(2);
        assertThat(read(BEGIN).getLast().snapshots()).containsEntry("here", node(3));
    }

    @Test
    void damagedLineCostsTheHostUntilItsWholeStateIsRecorded() throws IOException {
        record(node(1), node(2), node(3));
        disk.close();
        var file = segments().getFirst();
        var lines = new ArrayList<>(Files.readAllLines(file));
        assertThat(lines.get(3)).contains("\"type\":\"host_observed\"");
        lines.set(3, lines.get(3).replace("\"pid\":3", "\"pid\":7"));
        Files.write(file, lines);

        var last = read(BEGIN).getLast().snapshots().get("here");
        assertThat(last).isNotNull();
        assertThat(last.missing()).isNotEmpty();

        restart();
        record(node(4));
        assertThat(read(BEGIN).getLast().snapshots()).containsEntry("here", node(4));
    }

    @Test
    void readsWhileTheServiceWrites() throws IOException {
        record(node(1));
        var read = new ArrayList<RecordedCycle>();

        past().readCycles(BEGIN, () -> false, cycle -> {
            read.add(cycle);
            recordUnchecked(node(2));
            return true;
        });

        assertThat(read).hasSize(1);
        assertThat(read(BEGIN)).hasSize(2);
    }

    @Test
    void readerEndsTheReading() throws IOException {
        record(node(1), node(2), node(3));
        var read = new ArrayList<RecordedCycle>();

        past().readCycles(BEGIN, () -> false, cycle -> {
            read.add(cycle);
            return false;
        });

        assertThat(read).hasSize(1);
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
    void otherFilesOfTheJournalAreNoSegments() throws IOException {
        Files.writeString(folder.resolve("journal-0000000001.jsonl"), "x\n");
        Files.writeString(folder.resolve("recording-1.jsonl"), "x\n");
        record(node(1));

        assertThat(read(BEGIN)).hasSize(1);
        assertThat(folder.resolve("recording-0000000001.jsonl")).exists();
    }

    private void open(SegmentLimits limits) {
        disk = new DiskRecording(folder, limits);
    }

    private void restart() throws IOException {
        disk.close();
        recorder = new FleetRecorder(INTERVAL);
        open();
    }

    private void record(Snapshot... snapshots) throws IOException {
        for (var snapshot : snapshots) {
            now = now.plus(INTERVAL);
            if (disk.isSegmentDue(now)) {
                recorder.beginSegment();
            }
            var lines = recorder.record(now, List.of(snapshot), 1);
            if (!lines.isEmpty()) {
                disk.append(now, lines);
            }
        }
    }

    private void recordUnchecked(Snapshot snapshot) {
        try {
            record(snapshot);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private DiskPast past() {
        return new DiskPast(folder);
    }

    private List<RecordedCycle> read(Instant from) throws IOException {
        var cycles = new ArrayList<RecordedCycle>();
        past().readCycles(from, () -> false, cycles::add);
        return cycles;
    }

    private List<Path> segments() throws IOException {
        try (var files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(".jsonl"))
                    .sorted()
                    .toList();
        }
    }

    private long firstNumber() throws IOException {
        return Long.parseLong(segments().getFirst().getFileName().toString().substring(10, 20));
    }

    private long bytes() throws IOException {
        var bytes = 0L;
        for (var segment : segments()) {
            bytes += Files.size(segment);
        }
        return bytes;
    }

    private static Snapshot node(int pid) {
        return host().devices(2)
                .with(env("7").attached(0))
                .with(process(pid + 1).inEnvironment("7").uses(0, "100mi"))
                .snapshot();
    }
}

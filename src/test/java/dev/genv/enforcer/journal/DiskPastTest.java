package dev.genv.enforcer.journal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.recording.FleetRecorder;
import dev.genv.enforcer.recording.RecordedCycle;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Reading recorded observations, while others are written and after failures. */
class DiskPastTest extends RecordingFixture {
    @Test
    void readingEndsAmongRecordsThatEndNoCycle() throws IOException {
        record(node(1), node(2), node(3));
        var asked = new AtomicInteger();

        past().readCycles(BEGIN, Instant.MAX, () -> asked.incrementAndGet() == 2, cycle -> {
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
    void clockThatIsAheadForAMomentDeletesNothing() throws IOException {
        open(new SegmentLimits(64 << 20, Duration.ofDays(8)));
        for (var day = 0; day < 7; day++) {
            now = BEGIN.plus(Duration.ofDays(day));
            record(node(day));
        }
        now = BEGIN.plus(Duration.ofDays(400));
        record(node(100));
        now = BEGIN.plus(Duration.ofDays(7));
        record(node(7));

        assertThat(read(BEGIN).getFirst().at()).isEqualTo(BEGIN.plus(INTERVAL));
        assertThat(read(BEGIN)).hasSize(9);
    }

    @Test
    void segmentThatBeganWithAWrongClockHidesNoEarlierOne() throws IOException {
        for (var cycle = 0; cycle < 300; cycle++) {
            record(node(cycle));
        }
        var before = read(BEGIN).size();
        disk.close();
        recorder = new FleetRecorder(INTERVAL);
        open(new SegmentLimits(8 * (64 << 10), Duration.ofDays(90))); // begins a new segment
        now = Instant.EPOCH;
        record(node(1));
        now = BEGIN.plus(Duration.ofDays(1));
        record(node(2));

        assertThat(segments()).hasSizeGreaterThan(1);
        assertThat(read(BEGIN)).hasSize(before + 2);
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
    void readsNoSegmentAfterThePeriodAndAllThatAreInIt() throws IOException {
        open(new SegmentLimits(64 << 20, Duration.ofDays(80)));
        for (var day = 0; day < 60; day++) {
            now = BEGIN.plus(Duration.ofDays(day == 7 ? 400 : day)); // the clock was ahead for a moment
            record(node(day));
        }

        var cycles = new ArrayList<RecordedCycle>();
        past().readCycles(BEGIN, BEGIN.plus(Duration.ofDays(20)), () -> false, cycles::add);

        assertThat(cycles.stream().filter(cycle -> cycle.at().isBefore(BEGIN.plus(Duration.ofDays(20)))))
                .hasSize(19);
        assertThat(cycles.getLast().at()).isBefore(BEGIN.plus(Duration.ofDays(45)));
    }

    @Test
    void tornLastLineCostsThatLine() throws IOException {
        record(node(1), node(2));
        disk.close();
        var file = segments().getFirst();
        var content = Files.readAllBytes(file);
        Files.write(file, Arrays.copyOf(content, content.length - 20));

        assertThat(read(BEGIN)).hasSize(1);
        assertThat(isWhole(BEGIN, now)).isTrue();

        restart();
        record(node(3));
        assertThat(read(BEGIN)).hasSize(2);
        assertThat(isWhole(BEGIN, now)).isTrue();
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
        assertThat(isWhole(BEGIN, now)).isFalse();
        assertThat(isWhole(now.plusSeconds(1), Instant.MAX)).isTrue();

        restart();
        record(node(4));
        assertThat(read(BEGIN).getLast().snapshots()).containsEntry("here", node(4));
    }

    @Test
    void pastWithoutASegmentIsNotWhole() throws IOException {
        open(new SegmentLimits(8 * (64 << 10), Duration.ofDays(90)));
        for (var cycle = 0; segments().size() < 3; cycle++) {
            record(node(cycle));
        }
        assertThat(isWhole(BEGIN, now)).isTrue();
        Files.delete(segments().get(1));
        assertThat(isWhole(BEGIN, now)).isFalse();
    }

    @Test
    void readsWhileTheServiceWrites() throws IOException {
        record(node(1));
        var read = new ArrayList<RecordedCycle>();

        past().readCycles(BEGIN, Instant.MAX, () -> false, cycle -> {
            read.add(cycle);
            recordUnchecked(node(2));
            return true;
        });

        assertThat(read).hasSize(1);
        assertThat(read(BEGIN)).hasSize(2);
    }

    private boolean isWhole(Instant from, Instant to) throws IOException {
        return past().readCycles(from, to, () -> false, _ -> true);
    }

    @Test
    void readerEndsTheReading() throws IOException {
        record(node(1), node(2), node(3));
        var read = new ArrayList<RecordedCycle>();

        past().readCycles(BEGIN, Instant.MAX, () -> false, cycle -> {
            read.add(cycle);
            return false;
        });

        assertThat(read).hasSize(1);
    }
}

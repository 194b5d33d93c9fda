package dev.genv.enforcer.journal;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;

import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.recording.FleetRecorder;
import dev.genv.enforcer.recording.RecordedCycle;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** Observations that are recorded on the disk. */
abstract class RecordingFixture {
    static final Duration INTERVAL = Duration.ofSeconds(10);
    static final Instant BEGIN = Instant.parse("2026-11-22T00:00:00Z");
    static final SegmentLimits LARGE = new SegmentLimits(64 << 20, Duration.ofDays(90));

    @TempDir
    Path folder;

    FleetRecorder recorder = new FleetRecorder(INTERVAL);
    DiskRecording disk;
    Instant now = BEGIN;

    @BeforeEach
    final void open() {
        disk = new DiskRecording(folder, LARGE);
    }

    @AfterEach
    final void close() throws IOException {
        disk.close();
    }

    void open(SegmentLimits limits) {
        disk = new DiskRecording(folder, limits);
    }

    void restart() throws IOException {
        disk.close();
        recorder = new FleetRecorder(INTERVAL);
        open();
    }

    void record(Snapshot... snapshots) throws IOException {
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

    void recordUnchecked(Snapshot snapshot) {
        try {
            record(snapshot);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    DiskPast past() {
        return new DiskPast(folder);
    }

    List<RecordedCycle> read(Instant from) throws IOException {
        var cycles = new ArrayList<RecordedCycle>();
        past().readCycles(from, Instant.MAX, () -> false, cycles::add);
        return cycles;
    }

    List<Path> segments() throws IOException {
        try (var files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(".jsonl"))
                    .sorted()
                    .toList();
        }
    }

    long firstNumber() throws IOException {
        return Long.parseLong(segments().getFirst().getFileName().toString().substring(10, 20));
    }

    long bytes() throws IOException {
        var bytes = 0L;
        for (var segment : segments()) {
            bytes += Files.size(segment);
        }
        return bytes;
    }

    static Snapshot node(int pid) {
        return host().devices(2)
                .with(env("7").attached(0))
                .with(process(pid + 1).inEnvironment("7").uses(0, "100mi"))
                .snapshot();
    }
}

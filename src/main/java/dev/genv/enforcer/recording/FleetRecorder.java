package dev.genv.enforcer.recording;

import dev.genv.enforcer.model.Snapshot;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Turns the observations of cycles into records of what changed. It has no threads and does no I/O; one thread calls it at the end of
 * each cycle.
 */
public final class FleetRecorder {
    /** If nothing changes, this is recorded so often. Less than this of the last time before the service ends is unknown. */
    static final Duration LONGEST_SILENCE = Duration.ofMinutes(1);

    private final Duration interval;
    private final Map<String, HostRecorder> hosts = new HashMap<>();
    private boolean isStarted;
    private Instant recordedAt = Instant.EPOCH;
    private int cycles;

    /**
     * Creates a recorder whose first records contain the whole state.
     *
     * @param interval from one cycle to the next
     */
    public FleetRecorder(Duration interval) {
        this.interval = interval;
    }

    /** Has the next records contain the whole state, because the earlier ones may be deleted independently. */
    public void beginSegment() {
        hosts.values().forEach(HostRecorder::restart);
    }

    /** Begins anew, because records were lost. */
    public void restart() {
        hosts.clear();
        isStarted = false;
    }

    /**
     * Returns the records of a cycle; often none.
     *
     * @param passed the number of cycles since the last call, this one included
     */
    public List<RecordedLine> record(Instant at, List<Snapshot> snapshots, int passed) {
        var lines = new ArrayList<RecordedLine>();
        if (!isStarted) {
            isStarted = true;
            cycles = 0;
            lines.add(new RecordedLine(RecordType.RECORDING_STARTED, RecordingJson.write(_ -> {})));
        }
        removeAbsent(snapshots, lines);
        for (var snapshot : snapshots) {
            hosts.computeIfAbsent(snapshot.host(), name -> new HostRecorder(name, at))
                    .record(snapshot, at)
                    .ifPresent(json -> lines.add(new RecordedLine(RecordType.HOST_OBSERVED, json)));
        }
        cycles += passed;
        if (!lines.isEmpty() || isSilentForLong(at)) {
            lines.add(new RecordedLine(RecordType.CYCLE_OBSERVED, RecordingJson.write(out -> {
                out.writeStringField("at", at.truncatedTo(ChronoUnit.MILLIS).toString());
                out.writeNumberField("cycles", cycles);
                out.writeNumberField("interval_ms", interval.toMillis());
            })));
            cycles = 0;
            recordedAt = at;
        }
        return lines;
    }

    private void removeAbsent(List<Snapshot> snapshots, List<RecordedLine> lines) {
        Set<String> present = snapshots.stream().map(Snapshot::host).collect(Collectors.toSet());
        for (var host : Set.copyOf(hosts.keySet())) {
            if (!present.contains(host)) {
                hosts.remove(host);
                lines.add(new RecordedLine(RecordType.HOST_OBSERVED, RecordingJson.write(out -> {
                    out.writeStringField("host", host);
                    out.writeBooleanField("gone", true);
                })));
            }
        }
    }

    private boolean isSilentForLong(Instant at) {
        return Duration.between(recordedAt, at).abs().compareTo(LONGEST_SILENCE) >= 0;
    }
}

package dev.genv.enforcer.recording;

import dev.genv.enforcer.genv.GenvJson;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.model.Snapshot;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Predicate;

/** A recorder and a player behind it. */
public final class Playback {
    public static final Duration INTERVAL = Duration.ofSeconds(10);
    public static final Instant BEGIN = Instant.parse("2026-11-22T00:00:00Z");

    /** What the journal adds to a record besides the name of its type: {@code {"c":"12345678","r":{"type":"",}}} and a line feed. */
    private static final int FRAME = 38;

    public final FleetRecorder recorder = new FleetRecorder(INTERVAL);
    public final List<RecordedCycle> cycles = new ArrayList<>();
    private final FleetPlayer player = new FleetPlayer();
    private Predicate<RecordedLine> lost = _ -> false;
    private Instant at = BEGIN;
    private long bytes;

    /** Loses these lines between the recorder and the player. */
    public Playback losing(Predicate<RecordedLine> lines) {
        lost = lines;
        return this;
    }

    public Playback waits(Duration more) {
        at = at.plus(more);
        return this;
    }

    /** Records a cycle, one interval after the previous one. */
    public Playback cycle(Snapshot... snapshots) {
        return cycle(List.of(snapshots));
    }

    public Playback cycle(List<Snapshot> snapshots) {
        at = at.plus(INTERVAL);
        for (var line : recorder.record(at, snapshots, 1)) {
            bytes += FRAME + line.type().label().length() + line.json().length();
            if (!lost.test(line)) {
                play(line);
            }
        }
        return this;
    }

    void play(RecordedLine line) {
        try {
            player.apply(line.type(), GenvJson.read(line.json().getBytes(StandardCharsets.US_ASCII)))
                    .ifPresent(cycles::add);
        } catch (UnreadableException e) {
            throw new AssertionError(e);
        }
    }

    public RecordedCycle last() {
        return cycles.getLast();
    }

    /** The snapshots of the last recorded cycle. */
    public Map<String, Snapshot> snapshots() {
        return last().snapshots();
    }

    /** The snapshot of a host in the last recorded cycle. */
    public Snapshot snapshot(String host) {
        return Objects.requireNonNull(snapshots().get(host), host);
    }

    /** The bytes of all records until now. */
    public long bytes() {
        return bytes;
    }
}

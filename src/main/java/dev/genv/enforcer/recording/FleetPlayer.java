package dev.genv.enforcer.recording;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.model.Snapshot;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads what {@link FleetRecorder} recorded, in its order. It keeps one fleet, however long the past is. */
public final class FleetPlayer {
    /** A cycle may be late by some intervals, besides the time in which nothing is recorded because nothing changes. */
    private static final int LATE_INTERVALS = 3;

    private final Map<String, PlayedHost> hosts = new HashMap<>();
    private final Map<String, Snapshot> snapshots = new HashMap<>();
    private final Set<String> changed = new HashSet<>();
    private @Nullable Instant previous;

    /**
     * Applies a record; returns a cycle if it is the end of one.
     *
     * @throws UnreadableException if it is the end of a cycle without a time
     */
    public Optional<RecordedCycle> apply(RecordType type, JsonNode record) throws UnreadableException {
        return switch (type) {
            case RECORDING_STARTED -> {
                changed.addAll(hosts.keySet());
                hosts.clear();
                previous = null;
                yield Optional.empty();
            }
            case HOST_OBSERVED -> {
                apply(record);
                yield Optional.empty();
            }
            case CYCLE_OBSERVED -> Optional.of(cycle(record));
        };
    }

    private void apply(JsonNode record) {
        var name = record.path("host").asText("");
        changed.add(name);
        if (record.path("gone").booleanValue()) {
            hosts.remove(name);
        } else {
            hosts.computeIfAbsent(name, PlayedHost::new).apply(record);
        }
    }

    private RecordedCycle cycle(JsonNode record) throws UnreadableException {
        var at = time(record);
        for (var name : changed) {
            var host = hosts.get(name);
            if (host == null) {
                snapshots.remove(name);
            } else {
                snapshots.put(name, host.snapshot());
            }
        }
        var interval = Duration.ofMillis(Math.max(0, record.path("interval_ms").longValue()));
        var cycle = new RecordedCycle(
                at,
                since(at, interval),
                Math.max(1, record.path("cycles").intValue()),
                Set.copyOf(changed),
                Map.copyOf(snapshots));
        changed.clear();
        previous = at;
        return cycle;
    }

    private static Instant time(JsonNode record) throws UnreadableException {
        try {
            return Instant.parse(record.path("at").asText());
        } catch (DateTimeParseException e) {
            throw new UnreadableException("has no time");
        }
    }

    private Duration since(Instant at, Duration interval) {
        if (previous == null) {
            return Duration.ZERO;
        }
        var passed = Duration.between(previous, at);
        var longest = FleetRecorder.LONGEST_SILENCE.plus(interval.multipliedBy(LATE_INTERVALS));
        return passed.isNegative() || passed.compareTo(longest) > 0 ? Duration.ZERO : passed;
    }
}

package dev.genv.enforcer.recording;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.recording.change.HostChangeJson;
import dev.genv.enforcer.recording.change.HostState;
import dev.genv.enforcer.recording.change.RecordFields;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads what {@link FleetRecorder} recorded, in its order. It keeps one fleet, however long the past is. */
public final class FleetPlayer {
    /** A cycle may be late by some intervals, besides the time in which nothing is recorded because nothing changes. */
    private static final int LATE_INTERVALS = 3;

    private final Map<String, Host> hosts = new HashMap<>();
    private final Map<String, Snapshot> snapshots = new HashMap<>();
    private final Set<String> changed = new HashSet<>();
    private @Nullable Instant previous;

    /** A host whose records are read. After a lost record it counts as not observed until its whole state is recorded again. */
    private static final class Host {
        private HostState state = HostState.EMPTY;
        private int number;
        private boolean isKnown;
        private boolean isLeftOut;

        void apply(JsonNode record) {
            try {
                var fields = new RecordFields(record);
                isLeftOut = fields.flag("left_out");
                if (!isLeftOut) {
                    apply(record, fields);
                }
            } catch (UnreadableException e) {
                isKnown = false;
            }
        }

        private void apply(JsonNode record, RecordFields fields) throws UnreadableException {
            var next = fields.integer("n");
            var isWhole = fields.flag("whole");
            if (!isWhole && !(isKnown && next == number + 1)) {
                isKnown = false;
                return;
            }
            state = HostChangeJson.read(record).applyTo(isWhole ? HostState.EMPTY : state);
            number = next;
            isKnown = true;
        }

        Snapshot snapshot(String name) {
            return isKnown && !isLeftOut
                    ? state.snapshot(name)
                    : new Snapshot(
                            name,
                            List.of(),
                            List.of(),
                            List.of(),
                            Set.of(),
                            EnumSet.allOf(SnapshotPart.class),
                            List.of());
        }
    }

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
                var name = record.path("host").asText("");
                changed.add(name);
                if (record.path("gone").booleanValue()) {
                    hosts.remove(name);
                } else {
                    hosts.computeIfAbsent(name, _ -> new Host()).apply(record);
                }
                yield Optional.empty();
            }
            case CYCLE_OBSERVED -> Optional.of(cycle(record));
        };
    }

    private RecordedCycle cycle(JsonNode record) throws UnreadableException {
        var at = time(record);
        for (var name : changed) {
            var host = hosts.get(name);
            if (host == null) {
                snapshots.remove(name);
            } else {
                snapshots.put(name, host.snapshot(name));
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

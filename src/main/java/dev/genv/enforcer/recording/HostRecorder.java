package dev.genv.enforcer.recording;

import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.recording.change.HostChangeJson;
import dev.genv.enforcer.recording.change.HostState;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/** Records one host: its whole state now and then, and otherwise what changed. */
final class HostRecorder {
    /** How long the records after a lost one may be unusable. */
    static final Duration LONGEST_WITHOUT_STATE = Duration.ofHours(6);
    /** A host with 3,000 processes takes less. */
    static final int LARGEST_RECORD = 1 << 20;

    private final String host;
    private final ByteBudget budget;
    private HostState recorded = HostState.EMPTY;
    private boolean needsState = true;
    private boolean isLeftOut;
    private Instant stateAt;
    private int number;

    HostRecorder(String host, Instant at) {
        this.host = host;
        budget = new ByteBudget(at);
        stateAt = at;
    }

    /** Has the next record contain the whole state. */
    void restart() {
        needsState = true;
        isLeftOut = false;
    }

    /** Returns the record of an observation; empty if nothing is to be recorded. */
    Optional<String> record(Snapshot now, Instant at) {
        budget.elapse(at);
        if (budget.isExhausted()) {
            return leaveOut();
        }
        var whole = needsState || Duration.between(stateAt, at).abs().compareTo(LONGEST_WITHOUT_STATE) >= 0;
        var before = whole ? HostState.EMPTY : recorded;
        var after = before.after(now);
        var change = before.changeTo(after);
        if (change.isEmpty() && !whole && !isLeftOut) {
            return Optional.empty();
        }
        var json = RecordingJson.write(LARGEST_RECORD, out -> {
            out.writeStringField("host", host);
            out.writeNumberField("n", number);
            if (whole) {
                out.writeBooleanField("whole", true);
            }
            HostChangeJson.writeFields(change, out);
        });
        // A state that is too large counts too, so that it is not encoded again in every cycle.
        if (!budget.take(json.map(String::length).orElse(LARGEST_RECORD)) || json.isEmpty()) {
            return leaveOut();
        }
        recorded = after;
        isLeftOut = false;
        number++;
        if (whole) {
            needsState = false;
            stateAt = at;
        }
        return json;
    }

    /** Records once that the host is not recorded, so that its earlier state is not taken for the present one. */
    private Optional<String> leaveOut() {
        if (isLeftOut) {
            return Optional.empty();
        }
        isLeftOut = true;
        return Optional.of(RecordingJson.write(out -> {
            out.writeStringField("host", host);
            out.writeBooleanField("left_out", true);
        }));
    }
}

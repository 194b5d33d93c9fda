package dev.genv.enforcer.recording;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.recording.change.HostChangeJson;
import dev.genv.enforcer.recording.change.HostState;
import dev.genv.enforcer.recording.change.RecordFields;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A host while its records are read. After a lost record it counts as not observed until its whole state is recorded again. */
final class PlayedHost {
    private final String name;
    private HostState state = HostState.EMPTY;
    private int number;
    private boolean isKnown;
    private boolean isLeftOut;
    private @Nullable Snapshot snapshot;

    PlayedHost(String name) {
        this.name = name;
    }

    void apply(JsonNode record) {
        snapshot = null;
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

    Snapshot snapshot() {
        if (snapshot == null) {
            snapshot = isKnown && !isLeftOut ? state.snapshot(name) : unobserved();
        }
        return snapshot;
    }

    private Snapshot unobserved() {
        return new Snapshot(
                name, List.of(), List.of(), List.of(), Set.of(), EnumSet.allOf(SnapshotPart.class), List.of());
    }
}

package dev.genv.enforcer.recording;

import dev.genv.enforcer.model.Labelled;
import java.util.Arrays;
import java.util.Optional;

/** The kinds of records. */
public enum RecordType implements Labelled {
    /** The records before do not continue: the service was started, or records were lost. */
    RECORDING_STARTED,
    /** A host changed. The record counts from the next {@link #CYCLE_OBSERVED}. */
    HOST_OBSERVED,
    /** One or several cycles observed the hosts like this. */
    CYCLE_OBSERVED;

    /** Returns the kind with this name; empty if it is another kind of record. */
    public static Optional<RecordType> find(String label) {
        return Arrays.stream(values())
                .filter(type -> type.label().equals(label))
                .findFirst();
    }
}

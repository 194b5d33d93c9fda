package dev.genv.enforcer.node.state;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.observation.state.State;
import java.io.IOException;

/** The two state files, read but not yet parsed. */
record RawState(State.File<byte[]> envs, State.File<byte[]> devices) {
    static final String ENVS = "envs.json";
    static final String DEVICES = "devices.json";

    static RawState of(StateDirectory directory) {
        return new RawState(file(directory, ENVS), file(directory, DEVICES));
    }

    static State.File<byte[]> file(StateDirectory directory, String name) {
        try {
            var bytes = directory.read(name);
            return bytes == null ? new State.File.Absent<>() : new State.File.Present<>(bytes);
        } catch (IOException e) {
            return unreadable(name + ": " + e.getMessage());
        }
    }

    /** Parses both files. */
    State parsed() {
        return State.parse(envs, devices);
    }

    static <T> State.File<T> unreadable(String why) {
        return new State.File.Unreadable<>(new Problem(ProblemCode.STATE_UNREADABLE, why));
    }
}

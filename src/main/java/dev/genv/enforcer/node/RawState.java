package dev.genv.enforcer.node;

import dev.genv.enforcer.format.DevicesFile;
import dev.genv.enforcer.format.EnvsFile;
import dev.genv.enforcer.format.GenvJson;
import dev.genv.enforcer.format.UnreadableException;
import dev.genv.enforcer.model.Problem;
import java.io.IOException;

/** The two state files, read but not yet understood. */
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

    /** What they say. */
    State parsed() {
        return new State(
                parsed(envs, ENVS, bytes -> EnvsFile.of(GenvJson.read(bytes))),
                parsed(devices, DEVICES, bytes -> DevicesFile.of(GenvJson.read(bytes))));
    }

    static <T> State.File<T> unreadable(String why) {
        return new State.File.Unreadable<>(new Problem("state_unreadable", why));
    }

    private static <T> State.File<T> parsed(State.File<byte[]> file, String name, Parser<T> parser) {
        return switch (file) {
            case State.File.Absent<byte[]>() -> new State.File.Absent<>();
            case State.File.Unreadable<byte[]>(var problem) -> new State.File.Unreadable<>(problem);
            case State.File.Present<byte[]>(var bytes) -> {
                try {
                    yield new State.File.Present<>(parser.parse(bytes));
                } catch (UnreadableException e) {
                    yield unreadable(name + " " + e.getMessage());
                }
            }
        };
    }

    private interface Parser<T> {
        T parse(byte[] bytes) throws UnreadableException;
    }
}

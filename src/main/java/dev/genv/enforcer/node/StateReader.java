package dev.genv.enforcer.node;

import dev.genv.enforcer.format.DevicesFile;
import dev.genv.enforcer.format.EnvsFile;
import dev.genv.enforcer.format.GenvJson;
import dev.genv.enforcer.format.UnreadableException;
import dev.genv.enforcer.model.Problem;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;

/** Reads genv's state files under genv's own lock. */
final class StateReader {
    static final String ENVS = "envs.json";
    static final String DEVICES = "devices.json";

    private final Path path;
    private final Duration lockTimeout;

    StateReader(Path path, Duration lockTimeout) {
        this.path = path;
        this.lockTimeout = lockTimeout;
    }

    /** Reads both files as they stood at one moment. What cannot be read is a problem in the answer. */
    State read() throws InterruptedException {
        try (var directory = StateDirectory.open(path)) {
            return directory == null ? State.ABSENT : parsed(readBoth(directory));
        } catch (LockTimeoutException e) {
            return State.unreadable(new Problem("lock_timeout", String.valueOf(e.getMessage())));
        } catch (IOException e) {
            return State.unreadable(new Problem("state_unreadable", path + ": " + e.getMessage()));
        }
    }

    private Raw readBoth(StateDirectory directory) throws IOException, InterruptedException {
        while (true) {
            try (var lock = directory.lock(lockTimeout, false)) {
                var raw = new Raw(file(directory, ENVS), file(directory, DEVICES));
                // Where there is no lock file nobody holds it; if one came meanwhile, somebody may have been writing.
                if (lock != null || !directory.hasLock()) {
                    return raw;
                }
            }
        }
    }

    private static State.File<byte[]> file(StateDirectory directory, String name) {
        try {
            var bytes = directory.read(name);
            return bytes == null ? new State.File.Absent<>() : new State.File.Present<>(bytes);
        } catch (IOException e) {
            return unreadable(name + ": " + e.getMessage());
        }
    }

    private static State parsed(Raw raw) {
        return new State(
                parsed(raw.envs, ENVS, bytes -> EnvsFile.of(GenvJson.read(bytes))),
                parsed(raw.devices, DEVICES, bytes -> DevicesFile.of(GenvJson.read(bytes))));
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

    private static <T> State.File<T> unreadable(String why) {
        return new State.File.Unreadable<>(new Problem("state_unreadable", why));
    }

    private record Raw(State.File<byte[]> envs, State.File<byte[]> devices) {}

    private interface Parser<T> {
        T parse(byte[] bytes) throws UnreadableException;
    }
}

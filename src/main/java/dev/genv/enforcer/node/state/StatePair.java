package dev.genv.enforcer.node.state;

import dev.genv.enforcer.genv.DevicesFile;
import dev.genv.enforcer.genv.EnvsFile;
import dev.genv.enforcer.genv.GenvJson;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.linux.FileStatus;
import java.io.IOException;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The two state files as they were read. */
record StatePair(StateFile envs, StateFile devices) {
    static final String ENVS = "envs.json";
    static final String DEVICES = "devices.json";
    private static final long PAUSE_MILLIS = 50;
    private static final Duration TIMEOUT = Duration.ofSeconds(1);

    static StatePair of(StateDirectory directory) {
        return new StatePair(directory.read(ENVS), directory.read(DEVICES));
    }

    /** Whether each file is absent, or present with a content that is not torn. */
    boolean isComplete() {
        return isComplete(envs, bytes -> EnvsFile.of(GenvJson.read(bytes)))
                && isComplete(devices, bytes -> DevicesFile.of(GenvJson.read(bytes)));
    }

    private static boolean isComplete(StateFile file, Parser parser) {
        return switch (file) {
            case StateFile.Absent _ -> true;
            case StateFile.Unreadable _ -> false;
            case StateFile.Present(var content) -> {
                try {
                    parser.parse(content.array());
                    yield true;
                } catch (UnreadableException e) {
                    yield false;
                }
            }
        };
    }

    private interface Parser {
        Object parse(byte[] bytes) throws UnreadableException;
    }

    /**
     * Reads the files without genv's lock, so that a user who holds the lock forever cannot stop enforcement. genv writes in place, so
     * only files that are complete and do not change for a while are valid.
     */
    static StatePair readUnlocked(StateDirectory directory) throws IOException, InterruptedException {
        var start = System.nanoTime();
        var earlier = FilePair.of(directory);
        while (true) {
            Thread.sleep(PAUSE_MILLIS);
            var now = FilePair.of(directory);
            var state = now.sameAs(earlier);
            if (state.isComplete() || System.nanoTime() - start > TIMEOUT.toNanos()) {
                return state;
            }
            earlier = now;
        }
    }

    /** Both files at almost the same moment. */
    private record FilePair(FileVersion envs, FileVersion devices) {
        static FilePair of(StateDirectory directory) throws IOException {
            return new FilePair(FileVersion.of(directory, ENVS), FileVersion.of(directory, DEVICES));
        }

        StatePair sameAs(FilePair earlier) {
            return new StatePair(envs.sameAs(earlier.envs), devices.sameAs(earlier.devices));
        }
    }

    /** A file with its status before and after it was read. */
    private record FileVersion(
            @Nullable FileStatus before,
            StateFile content,
            @Nullable FileStatus after) {
        static FileVersion of(StateDirectory directory, String name) throws IOException {
            var before = directory.status(name);
            var content = directory.read(name);
            return new FileVersion(before, content, directory.status(name));
        }

        StateFile sameAs(FileVersion earlier) {
            var still = Objects.equals(before, after)
                    && Objects.equals(before, earlier.before)
                    && Objects.equals(before, earlier.after)
                    && content.equals(earlier.content);
            return still ? content : new StateFile.Unreadable(StateFile.Cause.CHANGES_WITHOUT_LOCK, 0, "");
        }
    }
}

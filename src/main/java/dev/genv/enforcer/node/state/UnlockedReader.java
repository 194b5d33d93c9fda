package dev.genv.enforcer.node.state;

import dev.genv.enforcer.files.FileStatus;
import dev.genv.enforcer.observation.state.State;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Reads the state files without genv's lock, so that a user who holds the lock forever cannot stop enforcement. genv writes in
 * place, so only files that are complete and do not change for a while are valid.
 */
final class UnlockedReader {
    private static final long PAUSE_MILLIS = 50;
    private static final Duration TIMEOUT = Duration.ofSeconds(1);

    private UnlockedReader() {}

    static State of(StateDirectory directory) throws IOException, InterruptedException {
        var start = System.nanoTime();
        var earlier = FilePair.of(directory);
        while (true) {
            Thread.sleep(PAUSE_MILLIS);
            var now = FilePair.of(directory);
            var state = now.sameAs(earlier).parsed();
            if (state.isReadable() || System.nanoTime() - start > TIMEOUT.toNanos()) {
                return state;
            }
            earlier = now;
        }
    }

    /** Both files at almost the same moment. */
    private record FilePair(FileVersion envs, FileVersion devices) {
        static FilePair of(StateDirectory directory) throws IOException {
            return new FilePair(FileVersion.of(directory, RawState.ENVS), FileVersion.of(directory, RawState.DEVICES));
        }

        RawState sameAs(FilePair earlier) {
            return new RawState(envs.sameAs(earlier.envs), devices.sameAs(earlier.devices));
        }
    }

    /** A file with its status before and after it was read. */
    private record FileVersion(
            String name,
            @Nullable FileStatus before,
            State.File<byte[]> content,
            @Nullable FileStatus after) {
        static FileVersion of(StateDirectory directory, String name) throws IOException {
            var before = directory.status(name);
            var content = RawState.file(directory, name);
            return new FileVersion(name, before, content, directory.status(name));
        }

        State.File<byte[]> sameAs(FileVersion earlier) {
            var still = Objects.equals(before, after)
                    && Objects.equals(before, earlier.before)
                    && Objects.equals(before, earlier.after)
                    && hasContentOf(earlier);
            return still ? content : RawState.unreadable(name + " changes while it is read without genv's lock");
        }

        private boolean hasContentOf(FileVersion earlier) {
            if (content instanceof State.File.Present<byte[]>(var bytes)
                    && earlier.content instanceof State.File.Present<byte[]>(var others)) {
                return Arrays.equals(bytes, others);
            }
            return content.equals(earlier.content);
        }
    }
}

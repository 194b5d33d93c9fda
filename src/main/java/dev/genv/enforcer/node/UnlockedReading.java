package dev.genv.enforcer.node;

import dev.genv.enforcer.files.FileStatus;
import dev.genv.enforcer.observation.State;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Reads the state files without genv's lock, for whoever holds that for ever must not escape. genv writes in place: only
 * what stands still for a while and is whole is believed.
 */
final class UnlockedReading {
    private static final long PAUSE_MILLIS = 50;
    private static final Duration PATIENCE = Duration.ofSeconds(1);

    private UnlockedReading() {}

    static State of(StateDirectory directory) throws IOException, InterruptedException {
        var start = System.nanoTime();
        var earlier = Sight.of(directory);
        while (true) {
            Thread.sleep(PAUSE_MILLIS);
            var now = Sight.of(directory);
            var state = now.sameAs(earlier).parsed();
            if (state.isReadable() || System.nanoTime() - start > PATIENCE.toNanos()) {
                return state;
            }
            earlier = now;
        }
    }

    /** Both files at about the same moment. */
    private record Sight(Seen envs, Seen devices) {
        static Sight of(StateDirectory directory) throws IOException {
            return new Sight(Seen.of(directory, RawState.ENVS), Seen.of(directory, RawState.DEVICES));
        }

        RawState sameAs(Sight earlier) {
            return new RawState(envs.sameAs(earlier.envs), devices.sameAs(earlier.devices));
        }
    }

    /** A file, with what the kernel said of it before and after it was read. */
    private record Seen(
            String name,
            @Nullable FileStatus before,
            State.File<byte[]> content,
            @Nullable FileStatus after) {
        static Seen of(StateDirectory directory, String name) throws IOException {
            var before = directory.status(name);
            var content = RawState.file(directory, name);
            return new Seen(name, before, content, directory.status(name));
        }

        State.File<byte[]> sameAs(Seen earlier) {
            var still = Objects.equals(before, after)
                    && Objects.equals(before, earlier.before)
                    && Objects.equals(before, earlier.after)
                    && hasContentOf(earlier);
            return still ? content : RawState.unreadable(name + " changes while it is read without genv's lock");
        }

        private boolean hasContentOf(Seen earlier) {
            if (content instanceof State.File.Present<byte[]>(var bytes)
                    && earlier.content instanceof State.File.Present<byte[]>(var others)) {
                return Arrays.equals(bytes, others);
            }
            return content.equals(earlier.content);
        }
    }
}

package dev.genv.enforcer.observation;

import dev.genv.enforcer.format.DevicesFile;
import dev.genv.enforcer.format.EnvsFile;
import dev.genv.enforcer.format.GenvJson;
import dev.genv.enforcer.format.UnreadableException;
import dev.genv.enforcer.model.Problem;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The two state files as they stood at one moment.
 *
 * @param problems what was wrong besides the files themselves
 * @param lockWait how long genv's lock was waited for; null where nobody did, or nobody told
 * @param changedAt when the files or their directory were last changed, in clock ticks since boot; a little later rather than
 *     earlier. The kernel says so, and no user can set it back. Null where it is not known
 */
public record State(
        File<EnvsFile> envs,
        File<DevicesFile> devices,
        List<Problem> problems,
        @Nullable Duration lockWait,
        @Nullable Long changedAt) {
    /** A machine on which nobody has used genv yet. */
    public static final State ABSENT = new State(new File.Absent<>(), new File.Absent<>());

    public State(File<EnvsFile> envs, File<DevicesFile> devices) {
        this(envs, devices, List.of(), null, null);
    }

    /** The same with a problem more. */
    public State with(Problem problem) {
        var all = new ArrayList<>(problems);
        all.add(problem);
        return new State(envs, devices, List.copyOf(all), lockWait, changedAt);
    }

    /** The same after so long a wait. */
    public State waited(@Nullable Duration wait) {
        return new State(envs, devices, problems, wait, changedAt);
    }

    /** The same, last changed at that many clock ticks since boot. */
    public State changed(@Nullable Long at) {
        return new State(envs, devices, problems, lockWait, at);
    }

    public boolean isReadable() {
        return !(envs instanceof File.Unreadable) && !(devices instanceof File.Unreadable);
    }

    public static State unreadable(Problem why) {
        return new State(new File.Unreadable<>(why), new File.Unreadable<>(why));
    }

    /** What the two files say. */
    public static State parse(File<byte[]> envs, File<byte[]> devices) {
        return new State(
                parsed(envs, "envs.json", bytes -> EnvsFile.of(GenvJson.read(bytes))),
                parsed(devices, "devices.json", bytes -> DevicesFile.of(GenvJson.read(bytes))));
    }

    /** A file that is there, is not there, or cannot be read. */
    public sealed interface File<T> {
        record Present<T>(T content) implements File<T> {}

        record Absent<T>() implements File<T> {}

        record Unreadable<T>(Problem problem) implements File<T> {}
    }

    private static <T> File<T> parsed(File<byte[]> file, String name, Parser<T> parser) {
        return switch (file) {
            case File.Absent<byte[]>() -> new File.Absent<>();
            case File.Unreadable<byte[]>(var problem) -> new File.Unreadable<>(problem);
            case File.Present<byte[]>(var bytes) -> {
                try {
                    yield new File.Present<>(parser.parse(bytes));
                } catch (UnreadableException e) {
                    yield new File.Unreadable<>(new Problem("state_unreadable", name + " " + e.getMessage()));
                }
            }
        };
    }

    private interface Parser<T> {
        T parse(byte[] bytes) throws UnreadableException;
    }
}

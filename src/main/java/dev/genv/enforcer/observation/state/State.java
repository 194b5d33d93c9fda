package dev.genv.enforcer.observation.state;

import dev.genv.enforcer.genv.DevicesFile;
import dev.genv.enforcer.genv.EnvsFile;
import dev.genv.enforcer.genv.GenvJson;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BinaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The two state files at one moment.
 *
 * @param problems the problems besides those of the files
 * @param lockWait how long the observation waited for genv's lock; null if it did not, or if that is unknown
 */
public record State(
        File<EnvsFile> envs,
        File<DevicesFile> devices,
        List<Problem> problems,
        @Nullable Duration lockWait) {
    /** A machine on which genv was never used. */
    public static final State ABSENT = new State(new File.Absent<>(), new File.Absent<>());

    public State(File<EnvsFile> envs, File<DevicesFile> devices) {
        this(envs, devices, List.of(), null);
    }

    public State with(Problem problem) {
        var all = new ArrayList<>(problems);
        all.add(problem);
        return new State(envs, devices, List.copyOf(all), lockWait);
    }

    public State withLockWait(@Nullable Duration wait) {
        return new State(envs, devices, problems, wait);
    }

    /** Returns what this reading or an earlier one contains. A file that one of them could not read is unreadable. */
    public State union(State earlier) {
        var known = problems.stream().map(Problem::code).collect(Collectors.toSet());
        return new State(
                union(envs, earlier.envs, EnvsFile::union),
                union(devices, earlier.devices, DevicesFile::union),
                Stream.concat(
                                problems.stream(),
                                earlier.problems.stream().filter(problem -> !known.contains(problem.code())))
                        .toList(),
                lockWait);
    }

    private static <T> File<T> union(File<T> now, File<T> earlier, BinaryOperator<T> merger) {
        return switch (now) {
            case File.Unreadable<T> unreadable -> unreadable;
            case File.Absent<T>() -> earlier;
            case File.Present<T>(var content) ->
                switch (earlier) {
                    case File.Unreadable<T> unreadable -> unreadable;
                    case File.Absent<T>() -> now;
                    case File.Present<T>(var before) -> new File.Present<>(merger.apply(content, before));
                };
        };
    }

    public static State unreadable(Problem why) {
        return new State(new File.Unreadable<>(why), new File.Unreadable<>(why));
    }

    public static State parse(File<byte[]> envs, File<byte[]> devices) {
        return new State(
                parsed(envs, "envs.json", bytes -> EnvsFile.of(GenvJson.read(bytes))),
                parsed(devices, "devices.json", bytes -> DevicesFile.of(GenvJson.read(bytes))));
    }

    /** A file that is present, absent or unreadable. */
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
                    yield new File.Unreadable<>(new Problem(ProblemCode.STATE_UNREADABLE, name + " " + e.getMessage()));
                }
            }
        };
    }

    private interface Parser<T> {
        T parse(byte[] bytes) throws UnreadableException;
    }
}

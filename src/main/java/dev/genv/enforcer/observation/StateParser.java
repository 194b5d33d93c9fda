package dev.genv.enforcer.observation;

import dev.genv.enforcer.genv.DevicesFile;
import dev.genv.enforcer.genv.EnvsFile;
import dev.genv.enforcer.genv.FileParser;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.host.StateFacts;
import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.host.StateFacts.LockFacts;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BinaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Parses genv's state, and notices if its directory is another one than before. */
public final class StateParser {
    private static final int LONGEST_SHOWN = 200;
    private static final int MAX_HOLDERS = 3;
    private static final String WITHOUT_LOCK = ". The state is read without it; nothing can be detached";

    private final String path;
    private final FileParser<EnvsFile> envsParser = new FileParser<>(EnvsFile::of);
    private final FileParser<DevicesFile> devicesParser = new FileParser<>(DevicesFile::of);
    private Directory.@Nullable Present lastDirectory;

    public StateParser(String path) {
        this.path = path;
    }

    /**
     * Returns both files as the union of two readings, or of one if the earlier one is null because it found the same. A file that cannot
     * be read is a problem in the result.
     */
    public State parse(@Nullable StateFacts earlier, StateFacts facts) {
        var replaced = rememberDirectory(facts.directory());
        var now = parse(facts);
        var state = earlier == null ? now : now.union(parse(earlier));
        return replaced.map(state::with).orElse(state);
    }

    private State parse(StateFacts facts) {
        if (facts.directory() instanceof Directory.Absent) {
            return State.ABSENT;
        }
        var unread = directoryProblem(path, facts.directory());
        if (unread != null) {
            return new State(new State.File.Unreadable<>(unread), new State.File.Unreadable<>(unread));
        }
        var lock = lockProblem(facts.lock());
        return new State(
                parsed(facts.envs(), "envs.json", envsParser),
                parsed(facts.devices(), "devices.json", devicesParser),
                lock == null ? List.of() : List.of(new Problem(lock.code(), lock.detail() + WITHOUT_LOCK)),
                facts.lock().waited());
    }

    private static <T> State.File<T> parsed(StateFile file, String name, FileParser<T> parser) {
        return switch (file) {
            case StateFile.Absent _ -> new State.File.Absent<>();
            case StateFile.Unreadable unreadable -> unreadable(name + ": " + clause(unreadable));
            case StateFile.Present(var content) -> {
                try {
                    yield new State.File.Present<>(parser.parse(content.array()));
                } catch (UnreadableException e) {
                    yield unreadable(name + " " + e.getMessage());
                }
            }
        };
    }

    private static <T> State.File<T> unreadable(String why) {
        return new State.File.Unreadable<>(new Problem(ProblemCode.STATE_UNREADABLE, why));
    }

    /** Returns why a state file was not read, as a clause without a subject. */
    public static String clause(StateFile.Unreadable file) {
        return switch (file.cause()) {
            case SYMBOLIC_LINK -> "is a symbolic link";
            case NOT_REGULAR -> "is not a regular file";
            case CLOSED ->
                "is closed to other users and has %d names (hard links): replace it by a copy".formatted(file.number());
            case TOO_LARGE -> "is larger than %d bytes".formatted(file.number());
            case DENIED -> "permission denied";
            case CHANGED_WHILE_READ -> "changed while it was read";
            case CHANGES_WITHOUT_LOCK -> "changes while it is read without genv's lock";
            case OTHER -> file.reason();
        };
    }

    /**
     * Returns a problem if the state directory was replaced: genv's users may still use the one of the previous observation. A directory that
     * was not read proves no change.
     */
    Optional<Problem> rememberDirectory(Directory directory) {
        var before = lastDirectory;
        return switch (directory) {
            case Directory.Present present -> {
                lastDirectory = present;
                yield before == null || before.equals(present)
                        ? Optional.empty()
                        : replaced("is another directory than at the previous observation: the state in that one is"
                                + " not read");
            }
            case Directory.Absent _ ->
                before == null ? Optional.empty() : replaced("existed at an earlier observation and is gone");
            case Directory.UserMount _, Directory.Stale _, Directory.Unreadable _ -> Optional.empty();
        };
    }

    private Optional<Problem> replaced(String what) {
        return Optional.of(new Problem(ProblemCode.STATE_DIRECTORY_REPLACED, path + " " + what));
    }

    /** Returns why the state directory is not read; null if it was read or does not exist. */
    public static @Nullable Problem directoryProblem(String path, Directory directory) {
        return switch (directory) {
            case Directory.Present _, Directory.Absent _ -> null;
            // The user decides what is read there and whether there is an answer, so the service accesses nothing.
            case Directory.UserMount(var uid, var type, var point) ->
                new Problem(
                        ProblemCode.STATE_USER_MOUNT,
                        "%s is not read: user %d has mounted a file system of the type %s on %s: unmount it (umount -l) and terminate the process that serves it"
                                .formatted(
                                        path,
                                        uid,
                                        SafeText.escape(type, LONGEST_SHOWN),
                                        SafeText.escape(point, LONGEST_SHOWN)));
            case Directory.Stale(var onHost) ->
                new Problem(
                        ProblemCode.STATE_DIRECTORY_MOVED,
                        onHost.isEmpty()
                                ? path + " was removed, and only the mount still leads there: recreate the container"
                                : "%s is a mount of a directory that the host no longer has at %s: recreate the container"
                                        .formatted(path, onHost));
            case Directory.Unreadable(var failure, var reason)
            when failure == Failure.TIMEOUT ->
                new Problem(ProblemCode.STATE_TIMEOUT, "%s does not answer: %s".formatted(path, reason));
            case Directory.Unreadable(var _, var reason) ->
                new Problem(ProblemCode.STATE_UNREADABLE, path + ": " + reason);
        };
    }

    /** Returns why genv's lock is not available, and which process holds it; null if it was taken, or if that was not attempted. */
    public static @Nullable Problem lockProblem(LockFacts lock) {
        return switch (lock.outcome()) {
            case HELD, NOT_ATTEMPTED -> null;
            case TIMEOUT ->
                new Problem(
                        ProblemCode.LOCK_TIMEOUT,
                        "genv.lock is held by another program, for longer than %d ms: %s"
                                .formatted(lock.limit().toMillis(), holders(lock.holders())));
            case UNUSABLE -> new Problem(ProblemCode.LOCK_UNUSABLE, "genv.lock " + lock.reason());
        };
    }

    private static String holders(Reading<List<LockFacts.Holder>> read) {
        if (!(read instanceof Reading.Value<List<LockFacts.Holder>>(var holders))) {
            return "the holder cannot be read";
        }
        if (holders.isEmpty()) {
            return "/proc/locks does not show the holder";
        }
        var named = holders.stream().limit(MAX_HOLDERS).map(StateParser::holder).collect(Collectors.joining(", "));
        var more = holders.size() - MAX_HOLDERS;
        return more > 0 ? named + " and %d more".formatted(more) : named;
    }

    private static String holder(LockFacts.Holder holder) {
        if (holder.pid() <= 0) {
            return "a process of another PID namespace";
        }
        if (isAbsent(holder.stat()) || isAbsent(holder.uid())) {
            return "process %d, which has exited; a child of it may still hold the lock".formatted(holder.pid());
        }
        var command = holder.stat() instanceof Reading.Value<Bytes>(var stat)
                ? ProcStat.tryParse(stat.array()).map(known -> " (" + known.command() + ")")
                : Optional.<String>empty();
        var user =
                holder.uid() instanceof Reading.Value<Long>(var uid) ? " of uid " + uid : ", whose user cannot be read";
        return "process %d%s%s".formatted(holder.pid(), command.orElse(""), user);
    }

    private static boolean isAbsent(Reading<?> reading) {
        return reading instanceof Reading.Failed<?>(var failure, var _) && failure == Failure.ABSENT;
    }

    /**
     * The two state files at one moment.
     *
     * @param problems besides those of the files
     * @param lockWait as {@link LockFacts#waited}
     */
    public record State(
            File<EnvsFile> envs,
            File<DevicesFile> devices,
            List<Problem> problems,
            @Nullable Duration lockWait) {
        static final State ABSENT = new State(new File.Absent<>(), new File.Absent<>());

        public State(File<EnvsFile> envs, File<DevicesFile> devices) {
            this(envs, devices, List.of(), null);
        }

        public State with(Problem problem) {
            var all = new ArrayList<>(problems);
            all.add(problem);
            return new State(envs, devices, List.copyOf(all), lockWait);
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

        public sealed interface File<T> {
            record Present<T>(T content) implements File<T> {}

            record Absent<T>() implements File<T> {}

            record Unreadable<T>(Problem problem) implements File<T> {}
        }
    }
}

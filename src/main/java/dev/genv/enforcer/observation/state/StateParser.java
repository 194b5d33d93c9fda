package dev.genv.enforcer.observation.state;

import dev.genv.enforcer.facts.StateFacts;
import dev.genv.enforcer.facts.StateFacts.Directory;
import dev.genv.enforcer.facts.StateFacts.StateFile;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import org.jspecify.annotations.Nullable;

/** Parses genv's state. Files with equal content are parsed once, because most observations find the files of the previous one. */
public final class StateParser {
    /** In bytes; the parsed content of larger files is not kept. */
    private static final int LARGEST_KEPT = 16 << 10;

    private static final String WITHOUT_LOCK = ". The state is read without it; nothing can be detached";

    private final String path;
    private final DirectoryHistory history;
    private @Nullable Parsed last;

    /**
     * Creates a parser that remembers no state.
     *
     * @param path of the state directory
     */
    public StateParser(String path) {
        this.path = path;
        history = new DirectoryHistory(path);
    }

    private record Parsed(StateFile envs, StateFile devices, State state) {}

    /**
     * Returns both files as the union of two readings. A file that cannot be read is a problem in the result.
     *
     * @param earlier null if the earlier reading found the same
     */
    public State parse(@Nullable StateFacts earlier, StateFacts facts) {
        var replaced = history.record(facts.directory());
        var now = parse(facts);
        var state = earlier == null ? now : now.union(parse(earlier));
        return replaced.map(state::with).orElse(state);
    }

    private State parse(StateFacts facts) {
        return DirectoryProblem.of(path, facts.directory())
                .map(State::unreadable)
                .orElseGet(() -> facts.directory() instanceof Directory.Absent ? State.ABSENT : files(facts));
    }

    private State files(StateFacts facts) {
        var state =
                parsed(facts.envs(), facts.devices()).withLockWait(facts.lock().waited());
        return LockProblem.of(facts.lock())
                .map(problem -> state.with(new Problem(problem.code(), problem.detail() + WITHOUT_LOCK)))
                .orElse(state);
    }

    private State parsed(StateFile envs, StateFile devices) {
        var before = last;
        if (before != null && before.envs.equals(envs) && before.devices.equals(devices)) {
            return before.state;
        }
        last = null; // its memory is free while the new files are parsed
        var state = State.parse(file(envs, "envs.json"), file(devices, "devices.json"));
        last = size(envs) + size(devices) <= LARGEST_KEPT ? new Parsed(envs, devices, state) : null;
        return state;
    }

    private static long size(StateFile file) {
        return file instanceof StateFile.Present(var content) ? content.length() : 0;
    }

    private static State.File<byte[]> file(StateFile file, String name) {
        return switch (file) {
            case StateFile.Absent _ -> new State.File.Absent<>();
            case StateFile.Present(var content) -> new State.File.Present<>(content.array());
            case StateFile.Unreadable unreadable ->
                new State.File.Unreadable<>(
                        new Problem(ProblemCode.STATE_UNREADABLE, name + ": " + clause(unreadable)));
        };
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
}

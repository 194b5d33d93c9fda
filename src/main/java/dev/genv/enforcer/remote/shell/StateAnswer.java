package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Sha256;
import dev.genv.enforcer.observation.state.State;
import dev.genv.enforcer.observation.state.UserMount;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Genv's state, as a host tells it. */
final class StateAnswer {
    /** In bytes; the script takes no more. */
    static final int LARGEST = 3 << 20;

    /** In chars: what longer files came to is not kept. */
    private static final int MOST_KEPT = 16 << 10;

    private static final ProblemCode CODE = ProblemCode.STATE_UNREADABLE;

    private final String path;
    private @Nullable String earlier;
    private @Nullable Parsed last;

    StateAnswer(String path) {
        this.path = path;
    }

    /** What the files of that digest came to. */
    private static final class Parsed {
        final byte[] digest;
        final State state;

        Parsed(byte[] digest, State state) {
            this.digest = digest;
            this.state = state;
        }
    }

    /** Both files as they stood at one moment. What could not be read is a problem in it. */
    State state(Frames frames, String nonce) throws UnreachableException {
        var directory = frames.one("directory");
        var state = switch (directory.at(0)) {
            case "absent" -> State.ABSENT;
            case "mounted" -> State.unreadable(mounted(directory));
            case "unusable" -> State.unreadable(new Problem(CODE, path + ": " + directory.from(1)));
            default -> present(frames, nonce);
        };
        var dated = state.changed(changedAt(frames, directory));
        return changed(directory).map(dated::with).orElse(dated);
    }

    /** A removed directory was removed at an unknown time before this reading, perhaps after a process started. */
    private @Nullable Long changedAt(Frames frames, Frame directory) throws UnreachableException {
        if (directory.at(0).equals("absent")) {
            return earlier == null ? null : Long.valueOf(frames.one("read").number(0));
        }
        var changed = frames.find("changed");
        return changed.isPresent() ? Long.valueOf(changed.get().number(0)) : null;
    }

    private Problem mounted(Frame directory) throws UnreachableException {
        return UserMount.problem(path, directory.number(1), directory.at(2), directory.from(3));
    }

    private State present(Frames frames, String nonce) throws UnreachableException {
        var state = parsed(frames.one("envs"), frames.one("devices"));
        if (frames.find("folder").isPresent()) {
            state = state.with(new Problem(
                    ProblemCode.STATE_FOLDER_UNUSABLE,
                    "the service cannot create its own directory in %s, and cannot take genv's lock safely without it. The state is read without it; nothing can be detached"
                            .formatted(path)));
        }
        state = state.withLockWait(LockAnswer.waited(frames));
        var trouble = LockAnswer.trouble(frames, nonce);
        return trouble.isEmpty()
                ? state
                : state.with(new Problem(
                        trouble.get().code(),
                        trouble.get().detail() + ". The state is read without it; nothing can be detached"));
    }

    /** Most often both files say what they said the last time. */
    private State parsed(Frame envs, Frame devices) throws UnreachableException {
        var digest = digest(envs, devices);
        var before = last;
        if (before != null && Arrays.equals(before.digest, digest)) {
            return before.state;
        }
        var state = State.parse(file(envs, "envs.json"), file(devices, "devices.json"));
        var isSmall = envs.line().length() + devices.line().length() <= MOST_KEPT;
        last = isSmall ? new Parsed(digest, state) : null;
        return state;
    }

    private static byte[] digest(Frame envs, Frame devices) {
        return Sha256.digest(
                envs.line().getBytes(StandardCharsets.ISO_8859_1),
                new byte[] {'\n'},
                devices.line().getBytes(StandardCharsets.ISO_8859_1));
    }

    /** Genv's users may still be in the directory of the look before. */
    private Optional<Problem> changed(Frame directory) throws UnreachableException {
        var before = earlier;
        if (directory.at(0).equals("absent")) {
            return before == null ? Optional.empty() : replaced("existed at an earlier observation and is gone");
        }
        if (!directory.at(0).equals("there")) {
            return Optional.empty();
        }
        earlier = directory.from(1);
        return before == null || before.equals(earlier)
                ? Optional.empty()
                : replaced("is another directory than at the previous observation: the state in that one is not read");
    }

    private Optional<Problem> replaced(String what) {
        return Optional.of(new Problem(ProblemCode.STATE_DIRECTORY_REPLACED, path + " " + what));
    }

    private static State.File<byte[]> file(Frame frame, String name) throws UnreachableException {
        return switch (frame.at(0)) {
            case "absent" -> new State.File.Absent<>();
            case "present" -> {
                var bytes = frame.bytes(LARGEST);
                yield bytes.length == frame.number(1)
                        ? new State.File.Present<>(bytes)
                        : new State.File.Unreadable<>(new Problem(CODE, name + ": could not be read to its end"));
            }
            default -> new State.File.Unreadable<>(new Problem(CODE, name + ": " + fault(frame)));
        };
    }

    /** What is wrong with a state file, in words. */
    static String fault(Frame frame) throws UnreachableException {
        return switch (frame.at(0)) {
            case "link" -> "is a symbolic link";
            case "irregular" -> "is not a regular file";
            case "closed" ->
                "is closed to other users and has %d names (hard links): replace it by a copy"
                        .formatted(frame.number(1));
            case "large" -> "is larger than %d bytes".formatted(frame.number(1));
            case "denied" -> "permission denied";
            case "changed" -> "changed while it was read";
            case "restless" -> "changes while it is read without genv's lock";
            default -> throw Frame.unreadable("unknown status of a state file");
        };
    }
}

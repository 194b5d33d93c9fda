package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.UnreachableException;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.observation.State;
import dev.genv.enforcer.observation.UserMount;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Genv's state, as a host tells it. */
final class StateAnswer {
    /** In bytes; the script takes no more. */
    static final int LARGEST = 3 << 20;

    /** In chars: what longer files came to is not kept. */
    private static final int MOST_KEPT = 16 << 10;

    private static final String CODE = "state_unreadable";

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
        var changed = frames.find("changed");
        var dated = changed.isPresent() ? state.changed(changed.get().number(0)) : state;
        return changed(directory).map(dated::with).orElse(dated);
    }

    private Problem mounted(Frame directory) throws UnreachableException {
        return UserMount.problem(path, directory.number(1), directory.at(2), directory.from(3));
    }

    private State present(Frames frames, String nonce) throws UnreachableException {
        var state = parsed(frames.one("envs"), frames.one("devices"));
        if (frames.find("folder").isPresent()) {
            state = state.with(new Problem(
                    "state_folder_unusable",
                    "no folder of our own can be made in %s, and without it genv's lock cannot be taken safely. The state is read without it; nothing can be detached"
                            .formatted(path)));
        }
        state = state.waited(LockAnswer.waited(frames));
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
        try {
            var digest = MessageDigest.getInstance("SHA-256"); // which every JDK has
            digest.update(envs.line().getBytes(StandardCharsets.ISO_8859_1));
            digest.update((byte) '\n');
            return digest.digest(devices.line().getBytes(StandardCharsets.ISO_8859_1));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Genv's users may still be in the directory of the look before. */
    private Optional<Problem> changed(Frame directory) throws UnreachableException {
        var before = earlier;
        if (directory.at(0).equals("absent")) {
            return before == null ? Optional.empty() : replaced("was there at an earlier look and is gone");
        }
        if (!directory.at(0).equals("there")) {
            return Optional.empty();
        }
        earlier = directory.from(1);
        return before == null || before.equals(earlier)
                ? Optional.empty()
                : replaced(
                        "is another directory than at the look before: what was written down in that one is not seen");
    }

    private Optional<Problem> replaced(String what) {
        return Optional.of(new Problem("state_directory_replaced", path + " " + what));
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
                "is closed to others and has %d names (hard links): put a copy in its place".formatted(frame.number(1));
            case "large" -> "is larger than %d bytes".formatted(frame.number(1));
            case "denied" -> "permission denied";
            case "changed" -> "changed while it was read";
            case "restless" -> "changes while it is read without genv's lock";
            default -> throw Frame.unreadable("of a state file it tells something that is not known");
        };
    }
}

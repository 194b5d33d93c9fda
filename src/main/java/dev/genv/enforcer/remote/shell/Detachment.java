package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.format.DevicesFile;
import dev.genv.enforcer.format.GenvJson;
import dev.genv.enforcer.format.UnreadableException;
import dev.genv.enforcer.model.Sha256;
import dev.genv.enforcer.policy.plan.Action;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Attachments that are to be taken out of a host's {@code devices.json}, all in one writing, and only if it still is the
 * file that the new one was made of.
 */
final class Detachment {
    private static final String FILE = "devices.json";
    private static final String REPEATED_CHANGES =
            "devices.json or genv.lock is changed repeatedly while genv's lock is held: find out who writes there without it";
    private static final String FOLDER =
            "the service cannot create its own directory in the state directory, and cannot take genv's lock safely without it";

    private final List<Action.Detach> actions;
    private byte @Nullable [] seen;
    private byte[] wanted = {};
    private Set<DevicesFile.AttachmentId> removed = Set.of();

    /**
     * Prepares it.
     *
     * @param seen the file as it was seen, a char a byte; null where it was not
     */
    Detachment(List<Action.Detach> actions, @Nullable String seen) {
        this.actions = List.copyOf(actions);
        this.seen = seen == null ? null : seen.getBytes(StandardCharsets.ISO_8859_1);
    }

    /** What came of all, where nothing need be written or can be; otherwise nothing, and it can be done. */
    Optional<Map<Action.Detach, Result>> prepared() {
        if (seen == null) {
            return Optional.empty(); // it will be told
        }
        try {
            var file = GenvJson.read(seen);
            removed = DevicesFile.remove(
                    file, actions.stream().map(Detachment::place).collect(Collectors.toUnmodifiableSet()));
            wanted = GenvJson.write(file, StateAnswer.LARGEST);
            return removed.isEmpty() ? Optional.of(all(Result.of(Outcome.ALREADY_DETACHED))) : Optional.empty();
        } catch (UnreadableException e) {
            return Optional.of(all(Result.failed(FILE + " " + e.getMessage())));
        }
    }

    /** What to call for it. */
    List<String> call() {
        return List.of(
                "detach",
                seen == null ? "unseen" : Sha256.hex(seen),
                Base64.getEncoder().encodeToString(wanted));
    }

    /** What came of all; nothing where others have written meanwhile: what they wrote must not be lost. */
    Optional<Map<Action.Detach, Result>> results(Frames frames, String nonce) throws UnreachableException {
        var frame = frames.one("detached");
        return switch (frame.at(0)) {
            case "done" -> Optional.of(done());
            case "absent" -> Optional.of(all(Result.of(Outcome.ALREADY_DETACHED)));
            case "present" -> {
                seen = frame.bytes(StateAnswer.LARGEST);
                yield Optional.empty();
            }
            case "changed", "restless" -> Optional.empty();
            default -> Optional.of(all(Result.failed(failure(frame, frames, nonce))));
        };
    }

    Map<Action.Detach, Result> restless() {
        return all(Result.failed(REPEATED_CHANGES));
    }

    private static String failure(Frame frame, Frames frames, String nonce) throws UnreachableException {
        return switch (frame.at(0)) {
            case "late" -> "abandoned: the execution took too long";
            case "unusable" -> "the state directory " + frame.from(1);
            case "folder" -> FOLDER;
            case "unwritten" -> "the new devices.json cannot be written: " + frame.from(1);
            case "locked" ->
                LockAnswer.trouble(frames, nonce)
                        .map(problem -> problem.detail())
                        .orElse("genv.lock is created and removed repeatedly");
            default -> FILE + ": " + StateAnswer.fault(frame);
        };
    }

    private Map<Action.Detach, Result> done() {
        var left = new HashSet<>(removed);
        var results = new LinkedHashMap<Action.Detach, Result>();
        for (var action : actions) {
            results.put(action, Result.of(left.remove(place(action)) ? Outcome.DETACHED : Outcome.ALREADY_DETACHED));
        }
        return results;
    }

    private Map<Action.Detach, Result> all(Result result) {
        var results = new LinkedHashMap<Action.Detach, Result>();
        actions.forEach(action -> results.put(action, result));
        return results;
    }

    private static DevicesFile.AttachmentId place(Action.Detach detach) {
        return new DevicesFile.AttachmentId(detach.device(), detach.attachment());
    }
}

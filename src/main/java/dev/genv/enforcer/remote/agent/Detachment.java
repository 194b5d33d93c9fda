package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.facts.Bytes;
import dev.genv.enforcer.facts.LockFacts;
import dev.genv.enforcer.facts.StateFacts.StateFile;
import dev.genv.enforcer.format.DevicesFile;
import dev.genv.enforcer.format.GenvJson;
import dev.genv.enforcer.format.UnreadableException;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.Sha256;
import dev.genv.enforcer.observation.state.LockProblem;
import dev.genv.enforcer.observation.state.StateParser;
import dev.genv.enforcer.policy.plan.Action;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The attachments to remove from {@code devices.json} of a machine, in one write, and only if the file is still the one from which the
 * new one was made.
 */
final class Detachment {
    /** In bytes. The agent reads no larger file. */
    private static final int LARGEST = 3 << 20;

    private static final String FILE = "devices.json";
    private static final String REPEATED_CHANGES =
            "devices.json or genv.lock is changed repeatedly while genv's lock is held: find out who writes there without it";

    private final List<Action.Detach> actions;
    private @Nullable Bytes seen;
    private Bytes wanted = Bytes.EMPTY;
    private Set<DevicesFile.AttachmentId> removed = Set.of();

    /**
     * Creates a detachment.
     *
     * @param seen the file as it was observed; null if it was not read
     */
    Detachment(List<Action.Detach> actions, @Nullable Bytes seen) {
        this.actions = List.copyOf(actions);
        this.seen = seen;
    }

    /** Makes the new file. Returns the results if nothing is to be written, or if that is not possible; otherwise empty. */
    Optional<Map<Action.Detach, Result>> prepare() {
        if (seen == null) {
            return Optional.empty(); // the answer will contain it
        }
        try {
            var file = GenvJson.read(seen.array());
            removed = DevicesFile.remove(
                    file, actions.stream().map(Detachment::place).collect(Collectors.toUnmodifiableSet()));
            wanted = Bytes.of(GenvJson.write(file, LARGEST));
            return removed.isEmpty() ? Optional.of(all(Result.of(Outcome.ALREADY_DETACHED))) : Optional.empty();
        } catch (UnreadableException e) {
            return Optional.of(all(Result.failed(FILE + " " + e.getMessage())));
        }
    }

    Request.Detach request(int number) {
        return new Request.Detach(number, seen == null ? "" : Sha256.hex(seen.array()), wanted);
    }

    /**
     * Returns the results; empty if others have written meanwhile, whose changes must not be lost.
     *
     * @param wasBegun whether the agent announced the write
     */
    Optional<Map<Action.Detach, Result>> results(Answer.Detached answer, LockFacts lock, boolean wasBegun) {
        return switch (answer.result()) {
            case DONE -> Optional.of(done());
            case ABSENT -> Optional.of(all(Result.of(Outcome.ALREADY_DETACHED)));
            case CHANGED -> {
                seen = answer.file() instanceof StateFile.Present(var content) ? content : null;
                yield Optional.empty();
            }
            case RESTLESS -> Optional.empty();
            case LATE -> Optional.of(all(Result.failed("abandoned: the execution took too long")));
            case UNREADABLE -> Optional.of(all(Result.failed(unreadable(answer))));
            case UNWRITTEN ->
                Optional.of(all(Result.failed("the new devices.json cannot be written: " + answer.reason())));
            case TIMEOUT -> {
                var why = "the state directory does not answer: " + answer.reason();
                yield Optional.of(all(wasBegun ? Result.lost(why) : Result.failed(why)));
            }
            case LOCKED ->
                Optional.of(all(Result.failed(LockProblem.of(lock)
                        .map(Problem::detail)
                        .orElse("genv.lock is created and removed repeatedly"))));
        };
    }

    Map<Action.Detach, Result> repeatedlyChanged() {
        return all(Result.failed(REPEATED_CHANGES));
    }

    private static String unreadable(Answer.Detached answer) {
        return answer.file() instanceof StateFile.Unreadable unreadable
                ? FILE + ": " + StateParser.clause(unreadable)
                : "the state directory " + answer.reason();
    }

    private Map<Action.Detach, Result> done() {
        var left = new HashSet<>(removed);
        var results = new LinkedHashMap<Action.Detach, Result>();
        for (var action : actions) {
            results.put(action, Result.of(left.remove(place(action)) ? Outcome.DETACHED : Outcome.ALREADY_DETACHED));
        }
        return results;
    }

    Map<Action.Detach, Result> all(Result result) {
        var results = new LinkedHashMap<Action.Detach, Result>();
        actions.forEach(action -> results.put(action, result));
        return results;
    }

    private static DevicesFile.AttachmentId place(Action.Detach detach) {
        return new DevicesFile.AttachmentId(detach.device(), detach.attachment());
    }
}

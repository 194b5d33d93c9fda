package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.HostProblem;
import dev.genv.enforcer.policy.Signal;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Counts the processes of each host that a cycle asks to end; whoever was asked before was counted then. */
final class Brake {
    private final int most;
    private final Map<String, Integer> asked = new LinkedHashMap<>();

    Brake(int most) {
        this.most = most;
    }

    @Nullable
    Result reasonToSkip(Action.Terminate action) {
        if (action.signal() != Signal.TERM) {
            return null;
        }
        var count = asked.merge(action.host(), 1, Integer::sum);
        return most == 0 || count <= most
                ? null
                : new Result(
                        Outcome.SKIPPED_LIMIT, "no more than %d in one cycle: it waits for the next".formatted(most));
    }

    List<HostProblem> problems() {
        return asked.entrySet().stream()
                .filter(entry -> most > 0 && entry.getValue() > most)
                .map(entry -> new HostProblem(
                        entry.getKey(),
                        new Problem(
                                "brake_reached",
                                "%d processes are to be ended, but no more than %d a cycle are: %d wait"
                                        .formatted(entry.getValue(), most, entry.getValue() - most))))
                .toList();
    }
}

package dev.genv.enforcer.observation.state;

import dev.genv.enforcer.facts.StateFacts.Directory;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Detects that the state directory was replaced since the previous observation: genv's users may still use the previous one. */
final class DirectoryHistory {
    private final String path;
    private Directory.@Nullable Present earlier;

    DirectoryHistory(String path) {
        this.path = path;
    }

    /** Returns a problem if the directory changed. A directory that was not read proves no change. */
    Optional<Problem> record(Directory directory) {
        var before = earlier;
        return switch (directory) {
            case Directory.Present present -> {
                earlier = present;
                yield before == null || before.equals(present)
                        ? Optional.empty()
                        : problem(
                                "is another directory than at the previous observation: the state in that one is not read");
            }
            case Directory.Absent _ ->
                before == null ? Optional.empty() : problem("existed at an earlier observation and is gone");
            case Directory.UserMount _, Directory.Stale _, Directory.Unreadable _ -> Optional.empty();
        };
    }

    private Optional<Problem> problem(String what) {
        return Optional.of(new Problem(ProblemCode.STATE_DIRECTORY_REPLACED, path + " " + what));
    }
}

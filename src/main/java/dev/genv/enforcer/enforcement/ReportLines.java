package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.policy.Words;
import java.util.ArrayList;
import java.util.List;

/** A cycle in genv's words. */
final class ReportLines {
    private ReportLines() {}

    static List<String> of(CycleReport report) {
        var lines = new ArrayList<>(
                report.plan().violations().stream().map(Violation::message).toList());
        report.actions().forEach(action -> lines.addAll(of(report.fleet(), action)));
        return lines;
    }

    /** What was done, and a second line where it could not be. What was not even tried says so at its end. */
    static List<String> of(Fleet fleet, ActionRecord done) {
        var action = done.planned().action();
        var host = Words.on(fleet, action.host());
        var result = done.result();
        return switch (result.outcome()) {
            case SIGNALLED, DETACHED -> List.of(host + Words.of(action));
            case EXITED -> List.of(host + "Process " + pid(action) + " has ended");
            case SKIPPED_AUDIT,
                    SKIPPED_PROTECTED,
                    SKIPPED_EXEMPT,
                    SKIPPED_LIMIT,
                    SKIPPED_GRACE,
                    UNKILLABLE,
                    FAILED,
                    ALREADY_DETACHED ->
                List.of("%s%s (%s: %s)"
                        .formatted(
                                host,
                                Words.of(action),
                                result.outcome().label(),
                                result.detail() == null ? "nothing to do" : Words.safe(result.detail())));
            case DENIED -> List.of(host + Words.of(action), host + Words.notPermitted(pid(action)));
            case ALREADY_GONE -> List.of(host + Words.of(action), host + Words.alreadyTerminated(pid(action)));
        };
    }

    private static int pid(Action action) {
        return switch (action) {
            case Action.Terminate(var host, var process, var _) -> process.pid();
            case Action.Detach detach -> throw new IllegalArgumentException("a detachment has no process: " + detach);
        };
    }
}

package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Messages;
import dev.genv.enforcer.policy.Violation;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** A cycle in genv's words. */
final class ReportLines {
    /** The largest number of lines of one kind in one cycle. */
    static final int MAX_LINES = 100;

    private ReportLines() {}

    static List<String> of(CycleReport report) {
        var lines = new ArrayList<>(
                report.plan().violations().stream().map(Violation::message).toList());
        report.actions().forEach(action -> lines.addAll(of(report.fleet(), action)));
        return lines;
    }

    /** Returns the action, and a second line if it failed. An action that was not attempted says so at the end. */
    static List<String> of(Fleet fleet, ActionRecord done) {
        var action = done.planned().action();
        var host = Messages.on(fleet, action.host());
        var result = done.result();
        return switch (result.outcome()) {
            case SIGNALLED, DETACHED -> List.of(host + Messages.of(action));
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
                                Messages.of(action),
                                result.outcome().label(),
                                result.detail() == null ? "nothing to do" : SafeText.escape(result.detail())));
            case DENIED -> List.of(host + Messages.of(action), host + Messages.notPermitted(pid(action)));
            case ALREADY_GONE -> List.of(host + Messages.of(action), host + Messages.alreadyTerminated(pid(action)));
        };
    }

    private static int pid(Action action) {
        return switch (action) {
            case Action.Terminate(var host, var process, var _) -> process.pid();
            case Action.Detach detach -> throw new IllegalArgumentException("a detachment has no process: " + detach);
        };
    }

    /** Returns the first lines, and the number of the others, because users influence how many there are. */
    static List<String> limit(List<String> all, String of) {
        return all.size() <= MAX_LINES
                ? all
                : Stream.concat(
                                all.stream().limit(MAX_LINES),
                                Stream.of("and %d more %s".formatted(all.size() - MAX_LINES, of)))
                        .toList();
    }
}

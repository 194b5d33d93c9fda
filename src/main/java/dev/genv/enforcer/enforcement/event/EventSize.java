package dev.genv.enforcer.enforcement.event;

import dev.genv.enforcer.enforcement.violation.ViolationSize;

/** The estimated heap of events. */
final class EventSize {
    private static final int EVENT = 160;

    private EventSize() {}

    /** Returns the bytes that an event takes at most; parts that it shares with the registry are included. */
    static long of(Event event) {
        return EVENT
                + switch (event.content()) {
                    case EventContent.ViolationOpened(var violation) -> ViolationSize.of(violation);
                    case EventContent.ActionRecorded(var violation, var _) -> ViolationSize.of(violation);
                    case EventContent.ViolationResolved(var violation) -> ViolationSize.of(violation);
                    case EventContent.ProblemBegan(var host, var problem) ->
                        ViolationSize.of(host) + ViolationSize.of(problem.detail());
                    case EventContent.ProblemEnded(var host, var problem) ->
                        ViolationSize.of(host) + ViolationSize.of(problem.detail());
                    case EventContent.ServiceStarted(var version, var mode) ->
                        ViolationSize.of(version) + ViolationSize.of(mode);
                };
    }
}

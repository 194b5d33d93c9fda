package dev.genv.enforcer.enforcement.host;

import dev.genv.enforcer.model.Labelled;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import java.time.Instant;
import java.util.Optional;

/** What is to be done about an action in this cycle. */
public sealed interface Order {
    PlannedAction planned();

    record Run(PlannedAction planned) implements Order {}

    /**
     * Do not execute it, and report this result.
     *
     * @param until what it waits for, and the earliest time of its execution; empty if no time alone leads to it
     */
    record Hold(PlannedAction planned, Result result, Optional<Until> until) implements Order {
        /** Holds an action back until something changes. */
        public Hold(PlannedAction planned, Outcome outcome, String reason) {
            this(planned, new Result(outcome, reason), Optional.empty());
        }

        /** Holds an action back for a time. */
        public Hold(PlannedAction planned, Outcome outcome, String reason, Until until) {
            this(planned, new Result(outcome, reason), Optional.of(until));
        }
    }

    /** What an action waits for, and the earliest time of its execution by the wall clock. */
    record Until(WaitReason because, Instant at) {}

    /** Why the service has not executed an action yet. */
    enum WaitReason implements Labelled {
        /** The violation was not observed for the grace period. */
        GRACE,
        /** The process got SIGTERM and has time to exit. */
        KILL_AFTER,
        /** It is unknown whether the process got SIGTERM, because the answer of its host was lost. */
        UNCONFIRMED_SIGNAL,
        /** The termination limit of the cycle is reached. */
        TERMINATION_LIMIT,
        /** The action failed, or its observation became too old: the next cycle decides again. */
        NEXT_CYCLE
    }
}

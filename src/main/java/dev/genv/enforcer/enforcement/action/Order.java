package dev.genv.enforcer.enforcement.action;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.policy.plan.PlannedAction;
import java.time.Instant;
import java.util.Optional;

/** What is to be done about an action in this cycle. */
public sealed interface Order {
    PlannedAction planned();

    /** Execute it. */
    record Run(PlannedAction planned) implements Order {}

    /**
     * Do not execute it, and report this outcome with the reason.
     *
     * @param until what it waits for, and the earliest time of its execution; empty if no time alone leads to it
     */
    record Hold(PlannedAction planned, Outcome outcome, String reason, Optional<Until> until) implements Order {
        /** Holds an action back until something changes. */
        public Hold(PlannedAction planned, Outcome outcome, String reason) {
            this(planned, outcome, reason, Optional.empty());
        }

        public Result result() {
            return new Result(outcome, reason);
        }
    }

    /** What an action waits for, and the earliest time of its execution by the wall clock. */
    record Until(WaitReason because, Instant at) {}
}

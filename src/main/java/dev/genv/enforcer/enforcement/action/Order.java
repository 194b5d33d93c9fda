package dev.genv.enforcer.enforcement.action;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.policy.plan.PlannedAction;

/** What is to be done about an action in this cycle. */
public sealed interface Order {
    PlannedAction planned();

    /** Execute it. */
    record Run(PlannedAction planned) implements Order {}

    /** Do not execute it, and report this outcome with the reason. */
    record Skip(PlannedAction planned, Outcome outcome, String reason) implements Order {
        public Result result() {
            return new Result(outcome, reason);
        }
    }
}

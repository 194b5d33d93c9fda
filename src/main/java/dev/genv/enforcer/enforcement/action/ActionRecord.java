package dev.genv.enforcer.enforcement.action;

import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.policy.plan.Plan.PlannedAction;
import java.time.Instant;

/** An action and its result. */
public record ActionRecord(PlannedAction planned, Result result, Instant at) {}

package dev.genv.enforcer.enforcement.host;

import dev.genv.enforcer.policy.Plan.PlannedAction;
import java.time.Instant;

/** An action and its result. */
public record ActionRecord(PlannedAction planned, Result result, Instant at) {}

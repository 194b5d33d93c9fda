package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.policy.PlannedAction;
import java.time.Instant;

/** An action, and what came of it. */
public record ActionRecord(PlannedAction planned, Result result, Instant at) {}

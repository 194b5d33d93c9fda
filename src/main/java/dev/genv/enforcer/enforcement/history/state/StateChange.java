package dev.genv.enforcer.enforcement.history.state;

import java.time.Instant;

/**
 * A change of genv's state that the service did not make, and without which a process would not break a rule.
 *
 * @param at when the change was first observed
 */
public record StateChange(String before, String after, Instant at) {}

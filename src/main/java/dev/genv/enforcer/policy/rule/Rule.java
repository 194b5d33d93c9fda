package dev.genv.enforcer.policy.rule;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.policy.definition.RuleDefinition;

/** A rule. It checks the whole fleet, because a user's quota spans machines. It has no state. */
public interface Rule {
    /** Returns the same object in every call. */
    RuleDefinition definition();

    RuleResult check(Fleet fleet, RuleContext context);
}

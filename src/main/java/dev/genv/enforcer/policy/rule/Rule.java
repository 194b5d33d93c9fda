package dev.genv.enforcer.policy.rule;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.policy.definition.RuleDefinition;

/** A rule. It checks the whole fleet, because a user's quota spans machines. */
public interface Rule {
    RuleDefinition name();

    /**
     * Checks the fleet.
     *
     * @param ending the processes that are treated as gone: they may still violate the rule, but no other process is terminated for what they hold
     */
    RuleResult check(Fleet fleet, ExpectedExits ending);
}

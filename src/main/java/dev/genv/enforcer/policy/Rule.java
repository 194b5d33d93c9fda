package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.policy.plan.RuleName;

/** A rule. It checks the whole fleet, because a user's quota spans machines. */
interface Rule {
    RuleName name();

    /**
     * Checks the fleet.
     *
     * @param ending the processes that are treated as gone: they may still violate the rule, but no other process is terminated for what they hold
     */
    RuleResult check(Fleet fleet, ExpectedExits ending);
}

package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Fleet;

/** One rule. It sees the whole fleet, for a user's quota spans machines. */
interface Rule {
    RuleName name();

    /**
     * Judges the fleet.
     *
     * @param ending what counts as gone: it still breaks rules, but nobody else need be ended for what it holds
     */
    Verdict check(Fleet fleet, Ending ending);
}

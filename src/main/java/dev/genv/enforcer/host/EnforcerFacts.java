package dev.genv.enforcer.host;

import org.jspecify.annotations.Nullable;

/**
 * Whether another enforcer acts on the state directory.
 *
 * @param other null if this one may act
 * @param unusable why the lock of the enforcers cannot be used, as a clause; empty if it can
 */
public record EnforcerFacts(@Nullable Other other, String unusable) {
    public static final EnforcerFacts NONE = new EnforcerFacts(null, "");

    /** An enforcer that acts instead of this one. */
    public sealed interface Other {
        /** On the machine itself; the pid is 0 if unknown. */
        record OnMachine(int pid) implements Other {}

        /** Over SSH: it acted some time ago, and others may act again after the rest of its lease, both in seconds. */
        record Leased(long secondsAgo, long secondsLeft) implements Other {}
    }
}

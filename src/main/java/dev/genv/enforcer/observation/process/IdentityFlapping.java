package dev.genv.enforcer.observation.process;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Counts how often the identity of a process had changed directly before the signal. A process may overwrite its environ and change
 * its real uid. A process that does so repeatedly avoids its termination, and it violated a rule with each identity.
 */
public final class IdentityFlapping {
    /** How often the identity of a process may have changed before the signal. */
    public static final int MAX_CHANGES = 2;

    /** After so many observations without a change, a process that broke a rule was signalled or left in peace. */
    private static final int FORGOTTEN_AFTER = 6;

    private static final int MAX_REMEMBERED = 10_000;

    /** How the membership directly before the signal compares with the one that the rules checked. */
    public enum Comparison {
        SAME,
        OTHER,
        UNKNOWN
    }

    /** How often a process changed, and the number of the observation after which it did so last. */
    private record Changes(int count, long last) {}

    private long observations;
    private final Map<ProcessId, Changes> changed = new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<ProcessId, Changes> eldest) {
            return size() > MAX_REMEMBERED;
        }
    };

    /** Records that the host is observed: what happened long ago no longer counts. */
    public void recordObservation() {
        observations++;
        changed.values().removeIf(changes -> observations - changes.last > FORGOTTEN_AFTER);
    }

    /**
     * Whether a process has another identity than the rules checked, so that it is not signalled in this cycle.
     *
     * @param uid its real uid directly before the signal; null if unknown
     * @param membership how its membership then compares with the one that the rules checked; an unknown one is no change
     */
    public boolean isOther(GpuProcess checked, @Nullable Long uid, Comparison membership) {
        if (membership == Comparison.SAME && Objects.equals(uid, checked.uid())) {
            return false;
        }
        if (checked.membership() instanceof Membership.Unknown
                || membership == Comparison.UNKNOWN
                || (checked.uid() == null) != (uid == null)) {
            return true;
        }
        var changes = changed.merge(
                checked.id(), new Changes(1, observations), (before, now) -> new Changes(before.count + 1, now.last));
        return changes.count <= MAX_CHANGES;
    }
}

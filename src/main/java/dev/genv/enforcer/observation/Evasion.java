package dev.genv.enforcer.observation;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Counts how often a process was something else at the second look, directly before the signal. A process may write over
 * its environment and change its real uid, but one that does so again and again does it in order not to be ended: it
 * broke a rule as each of those that it was.
 */
public final class Evasion {
    /** How often a process may be something else at the second look. */
    public static final int MOST_CHANGES = 2;

    private static final int MOST_REMEMBERED = 10_000;

    private final Map<ProcessId, Integer> changed = new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<ProcessId, Integer> eldest) {
            return size() > MOST_REMEMBERED;
        }
    };

    /**
     * Whether a process must be taken for another one than was judged, and be spared for now.
     *
     * @param uid its real uid at the second look; null where it is not known, as it never is with genv's own protocol
     * @param now what it says of itself at the second look; not to know is no answer, as ever
     */
    public boolean isOther(GpuProcess judged, @Nullable Long uid, Membership now) {
        if (now.equals(judged.membership()) && Objects.equals(uid, judged.uid())) {
            return false;
        }
        if (judged.membership() instanceof Membership.Unknown
                || now instanceof Membership.Unknown
                || (judged.uid() == null) != (uid == null)) {
            return true;
        }
        return changed.merge(judged.id(), 1, Integer::sum) <= MOST_CHANGES;
    }
}

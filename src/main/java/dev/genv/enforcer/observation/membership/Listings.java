package dev.genv.enforcer.observation.membership;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Membership;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The pids that active environments list. genv sets the id of an environment in a running shell, so the environ of the
 * shell does not show it, and the list is the only trace. Every user can write it, so it is no proof by itself.
 *
 * @param byPid the present ones
 * @param former pids that were listed before, and when they were last, in clock ticks since boot
 * @param owners the users who have an active environment
 */
public record Listings(Map<Integer, Listing> byPid, Map<Integer, Long> former, Set<Long> owners) {
    public static final Listings NONE = new Listings(Map.of(), Map.of(), Set.of());

    /** Users choose their number. If there are more, any process may have been listed. */
    static final int MAX_FORMER = 10_000;

    private static final long TICKS_PER_DAY = 24 * 60 * 60 * 100;

    /**
     * A listed pid.
     *
     * @param eid the environment; empty if several list it, or if its owner is disputed
     * @param owner its recorded uid
     * @param named when an intact environ of the owner in the session of this process last named the environment too, in clock ticks since
     *     boot; 0 if the service never observed that
     */
    public record Listing(Optional<String> eid, @Nullable Long owner, long named) {
        private boolean isNamedBy(RelatedProcess witness) {
            return owner != null
                    && owner == witness.uid()
                    && eid.isPresent()
                    && witness.named()
                            .filter(new Membership.InEnvironment(eid.get())::equals)
                            .isPresent();
        }

        private boolean isSame(Listing other) {
            return eid.equals(other.eid) && Objects.equals(owner, other.owner);
        }
    }

    /**
     * Returns the listings of the next observation.
     *
     * @param processes those of this observation
     * @param ticks when the environments were read, in clock ticks since boot
     */
    public Listings next(Collection<Environment> environments, RelatedProcesses processes, long ticks) {
        var now = new HashMap<Integer, Listing>();
        var users = new HashSet<Long>();
        for (var environment : environments) {
            users.addAll(environment.ownership().uids());
            if (environment.uid() != null) {
                users.add(environment.uid());
            }
            var eid = environment.ownership().isDisputed() ? Optional.<String>empty() : Optional.of(environment.eid());
            var listing = new Listing(eid, environment.uid(), 0);
            Set.copyOf(environment.pids())
                    .forEach(pid -> now.merge(pid, listing, (_, _) -> new Listing(Optional.empty(), null, 0)));
        }
        now.replaceAll((pid, listing) ->
                Optional.ofNullable(byPid.get(pid)).filter(listing::isSame).orElse(listing));
        processes
                .byPid()
                .values()
                .forEach(witness -> now.computeIfPresent(
                        witness.session(),
                        (_, listing) ->
                                listing.isNamedBy(witness) ? new Listing(listing.eid, listing.owner, ticks) : listing));
        return new Listings(now, former(now, ticks), users);
    }

    private Map<Integer, Long> former(Map<Integer, Listing> now, long ticks) {
        var ended = new HashMap<>(former);
        ended.values().removeIf(last -> ticks - last > TICKS_PER_DAY);
        for (var pid : byPid.keySet()) {
            if (ended.size() < MAX_FORMER && !now.containsKey(pid)) {
                ended.put(pid, ticks);
            }
        }
        ended.keySet().removeAll(now.keySet());
        return ended;
    }

    Optional<Listing> of(RelatedProcess process) {
        return Optional.ofNullable(byPid.get(process.pid()));
    }

    /** Whether an environment lists this process, or did. Then its environ does not show that it names none. */
    boolean mayHaveEnvironment(RelatedProcess process) {
        return byPid.containsKey(process.pid()) || former.containsKey(process.pid()) || former.size() >= MAX_FORMER;
    }
}

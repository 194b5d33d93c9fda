package dev.genv.enforcer.observation.membership;

import dev.genv.enforcer.model.Environment;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The pids that active environments list, and since when. genv sets the id of an environment in a running shell, so the environ of the
 * shell does not show it, and the list is the only trace. Every user can write it, so it is no proof by itself.
 *
 * @param byPid the present ones
 * @param former pids that were listed before
 * @param owners the users who have an active environment
 */
public record Listings(Map<Integer, Listing> byPid, Set<Integer> former, Set<Long> owners) {
    public static final Listings NONE = new Listings(Map.of(), Set.of(), Set.of());

    /** More are forgotten: users choose their number. */
    private static final int MAX_FORMER = 10_000;

    /**
     * A listed pid.
     *
     * @param eid the environment; empty if several list it, or if its owner is disputed
     * @param owner its recorded uid
     * @param since when the service first observed it, in clock ticks since boot
     */
    public record Listing(Optional<String> eid, @Nullable Long owner, long since) {
        private boolean isSame(Listing other) {
            return eid.equals(other.eid) && Objects.equals(owner, other.owner);
        }
    }

    /**
     * Returns the listings of the next observation.
     *
     * @param ticks when the environments were read, in clock ticks since boot
     */
    public Listings next(Collection<Environment> environments, long ticks) {
        var now = new HashMap<Integer, Listing>();
        var users = new HashSet<Long>();
        for (var environment : environments) {
            users.addAll(environment.ownership().uids());
            if (environment.uid() != null) {
                users.add(environment.uid());
            }
            var eid = environment.ownership().isDisputed() ? Optional.<String>empty() : Optional.of(environment.eid());
            var listing = new Listing(eid, environment.uid(), ticks);
            Set.copyOf(environment.pids())
                    .forEach(pid -> now.merge(pid, listing, (_, _) -> new Listing(Optional.empty(), null, ticks)));
        }
        now.replaceAll((pid, listing) ->
                Optional.ofNullable(byPid.get(pid)).filter(listing::isSame).orElse(listing));
        return new Listings(now, former(now), users);
    }

    private Set<Integer> former(Map<Integer, Listing> now) {
        var ended = new HashSet<>(former.size() > MAX_FORMER ? Set.of() : former);
        byPid.keySet().stream().limit(MAX_FORMER).forEach(ended::add);
        ended.removeAll(now.keySet());
        return ended;
    }

    Optional<Listing> of(RelatedProcess process) {
        return Optional.ofNullable(byPid.get(process.pid()));
    }

    /** Whether an environment lists this process, or did. Then its environ does not show that it names none. */
    boolean mayHaveEnvironment(RelatedProcess process) {
        return byPid.containsKey(process.pid()) || former.contains(process.pid());
    }
}

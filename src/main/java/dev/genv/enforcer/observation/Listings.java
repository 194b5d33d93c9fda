package dev.genv.enforcer.observation;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.observation.ProcessIdentity.ObservedProcess;
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
 * <p>They are remembered, because a process keeps the environment of its ancestors if their pids are no longer listed.
 *
 * @param machine the identity of the machine and of its boot, whose pids these are; null if unknown
 * @param since when the environments were first read, in clock ticks since boot; null before that
 * @param byPid the present ones
 * @param former pids that were listed before, and when they were last, in clock ticks since boot
 * @param overflow when a pid last was listed that is not among the former ones because they were too many, in clock ticks since boot; 0 if
 *     there is none
 * @param owners the users who have an active environment
 */
public record Listings(
        @Nullable String machine,
        @Nullable Long since,
        Map<Integer, Listing> byPid,
        Map<Integer, Long> former,
        long overflow,
        Set<Long> owners) {
    public static final Listings NONE = new Listings(null, null, Map.of(), Map.of(), 0, Set.of());

    /** Users choose the ids, and each is remembered for each of its pids. genv's own ids are pids. */
    private static final int LONGEST_ID = 256;
    /** Users choose their number. If there are more, any process that ran then may have been listed. */
    static final int MAX_FORMER = 10_000;

    private static final long TICKS_PER_DAY = 24 * 60 * 60 * 100;
    /** How much older the last observation of a name may be, so that what is remembered does not change in every observation. */
    private static final long NAMED_ACCURACY = 10 * 60 * 100;

    /**
     * A listed pid.
     *
     * @param eid the environment; empty if several list it, if its owner is disputed, or if the id is too long
     * @param owner its recorded uid
     * @param named when an intact environ of the owner in the session of this process named the environment too, in clock ticks since
     *     boot, at most ten minutes before it last did; 0 if the service never observed that
     */
    public record Listing(Optional<String> eid, @Nullable Long owner, long named) {
        private boolean isNamedBy(ObservedProcess witness) {
            return owner != null && owner.equals(witness.uid()) && eid.isPresent() && witness.names(eid.get());
        }

        private Listing namedAt(long ticks) {
            return named == 0 || ticks - named > NAMED_ACCURACY ? new Listing(eid, owner, ticks) : this;
        }

        private boolean isSame(Listing other) {
            return eid.equals(other.eid) && Objects.equals(owner, other.owner);
        }
    }

    /** Returns the listings of the next observation, whose environments were read at this clock tick since boot. */
    public Listings next(Collection<Environment> environments, RelatedProcesses processes, long ticks) {
        if (since != null && ticks < since) { // the machine was rebooted
            return NONE.on(machine).next(environments, processes, ticks);
        }
        var now = new HashMap<Integer, Listing>();
        var users = new HashSet<Long>();
        for (var environment : environments) {
            users.addAll(environment.ownership().uids());
            if (environment.uid() != null) {
                users.add(environment.uid());
            }
            var eid = environment.ownership().isDisputed() || environment.eid().length() > LONGEST_ID
                    ? Optional.<String>empty()
                    : Optional.of(environment.eid());
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
                        (_, listing) -> listing.isNamedBy(witness) ? listing.namedAt(ticks) : listing));
        var ended = new HashMap<>(former);
        ended.values().removeIf(last -> ticks - last > TICKS_PER_DAY);
        ended.keySet().removeAll(now.keySet());
        var lastOverflow = ticks - overflow > TICKS_PER_DAY ? 0 : overflow;
        for (var pid : byPid.keySet()) {
            if (now.containsKey(pid)) {
                continue;
            }
            if (ended.size() < MAX_FORMER) {
                ended.put(pid, ticks);
            } else {
                lastOverflow = ticks;
            }
        }
        return new Listings(machine, since == null ? Long.valueOf(ticks) : since, now, ended, lastOverflow, users);
    }

    /** Returns those of the same boot of the same machine; the pids of another one belong to other processes. */
    public Listings on(@Nullable String now) {
        return now == null || now.equals(machine) ? this : new Listings(now, null, Map.of(), Map.of(), 0, Set.of());
    }

    /** Whether a process is older than the first reading: an environment may have listed its relatives before. */
    boolean isOlder(ObservedProcess process) {
        return since == null || process.id().startTime() < since;
    }

    Optional<Listing> of(ObservedProcess process) {
        return Optional.ofNullable(byPid.get(process.pid()));
    }

    /** Whether an environment lists this process, or did. Then its environ does not show that it names none. */
    boolean mayHaveEnvironment(ObservedProcess process) {
        return byPid.containsKey(process.pid()) || hadEnvironment(process);
    }

    boolean hadEnvironment(ObservedProcess process) {
        return former.containsKey(process.pid()) || process.id().startTime() <= overflow;
    }

    /** Whether an environment lists or listed the leader of its session, which may have exited. Its pid is in use as long as the session. */
    boolean mayLeaderHaveEnvironment(ObservedProcess process) {
        return byPid.containsKey(process.session()) || hadLeaderEnvironment(process);
    }

    boolean hadLeaderEnvironment(ObservedProcess process) {
        return former.containsKey(process.session());
    }
}

package dev.genv.enforcer.observation;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.Listings.Listing;
import dev.genv.enforcer.observation.ProcessIdentity.ObservedProcess;
import dev.genv.enforcer.observation.ProcessIdentity.ProgramEnviron;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Decides the memberships of processes. A process that has overwritten its environ, as setproctitle(3) does, belongs where the service saw
 * it before, or where its relatives are. Nothing that another user can arrange decides it.
 */
final class MembershipResolver {
    private static final String NOTHING_FOUND =
            "neither its ancestors nor its session or cgroup show to which environment it belongs";
    private static final String ROOT = "root starts programs for all users, so its other processes prove nothing";

    private final boolean isOverwrittenOutside;
    private final MembershipHistory memory = new MembershipHistory();
    private Listings listings = Listings.NONE;

    /**
     * Creates a resolver without memory. If a process has overwritten its environ, and nothing shows where it belongs, it is outside of all
     * environments or its membership is unknown.
     */
    MembershipResolver(boolean isOverwrittenOutside) {
        this.isOverwrittenOutside = isOverwrittenOutside;
    }

    Set<ProcessId> settled() {
        return memory.settled();
    }

    /**
     * Begins an observation.
     *
     * @param machine the identity of the machine and of its boot; null if unknown
     * @param environments the active environments; null if they are unknown
     * @param ticks when they were read, in clock ticks since boot
     */
    Session begin(
            @Nullable String machine,
            RelatedProcesses processes,
            @Nullable Collection<Environment> environments,
            long ticks) {
        listings = listings.on(machine);
        if (environments != null) {
            listings = listings.next(environments, processes, ticks);
        }
        return new Session(processes, environments != null);
    }

    Listings listings() {
        return listings;
    }

    void restore(Listings earlier) {
        listings = earlier;
    }

    /** Forgets all processes that are no longer on a GPU. */
    void retain(Set<ProcessId> processes) {
        memory.retain(processes);
    }

    /** A membership, and by what it was decided. An unknown one is final: no other source can decide it. */
    record Decision(Membership membership, MembershipSource by) {
        /** Returns the unknown membership of a process that has overwritten its environ. */
        static Decision unknown(String reason) {
            return new Decision(
                    new Membership.Unknown("it has overwritten its environ, and " + reason), MembershipSource.UNKNOWN);
        }
    }

    /** The memberships that were decided in earlier observations. Each holds for one program of a process: execve(2) ends it. */
    static final class MembershipHistory {
        /** Incomplete observations forget nothing, and users choose the number of processes. */
        static final int MAX_REMEMBERED = 10_000;

        private final LinkedHashMap<ProcessId, Entry> entries = new LinkedHashMap<>(16, 0.75f, true);

        /**
         * A decision.
         *
         * @param environ as it was then
         * @param isOverwritten whether the environ was overwritten in the last observation
         * @param hasChanged whether the process ever had another program, so that it may have one in the next observation too
         */
        private record Entry(ProgramEnviron environ, Decision decision, boolean isOverwritten, boolean hasChanged) {
            boolean isSettled() {
                return isOverwritten && !hasChanged && environ.addresses() != null;
            }

            Entry overwritten() {
                return new Entry(environ, decision, true, hasChanged);
            }

            Entry changed() {
                return new Entry(environ, decision, isOverwritten, true);
            }
        }

        void record(ObservedProcess process, Decision decision) {
            var before = entries.get(process.id());
            entries.put(
                    process.id(),
                    new Entry(
                            process.environ(),
                            decision,
                            process.named().isEmpty(),
                            before != null
                                    && (before.hasChanged || !before.environ.isOfSameProgram(process.environ()))));
            if (entries.size() > MAX_REMEMBERED) {
                entries.pollFirstEntry();
            }
        }

        /** Returns the decision about the same program of a process that has overwritten its environ. */
        Optional<Decision> recall(ObservedProcess process) {
            var entry = entries.get(process.id());
            if (entry == null) {
                return Optional.empty();
            }
            if (!entry.environ.isOfSameProgram(process.environ())) {
                entries.put(process.id(), entry.changed());
                return Optional.empty();
            }
            entries.put(process.id(), entry.overwritten());
            var by = entry.decision.by() == MembershipSource.ENVIRON ? MembershipSource.EARLIER : entry.decision.by();
            return Optional.of(new Decision(entry.decision.membership(), by));
        }

        /** Returns the processes whose relations are not needed, because they overwrote their environs and are remembered. */
        Set<ProcessId> settled() {
            return entries.entrySet().stream()
                    .filter(entry -> entry.getValue().isSettled())
                    .map(Map.Entry::getKey)
                    .collect(Collectors.toUnmodifiableSet());
        }

        void retain(Set<ProcessId> processes) {
            entries.keySet().retainAll(processes);
        }
    }

    /** The decisions of one observation. */
    final class Session {
        private final RelatedProcesses processes;
        private final boolean areEnvironmentsKnown;
        private final Set<ProcessId> settled = memory.settled();

        private Session(RelatedProcesses processes, boolean areEnvironmentsKnown) {
            this.processes = processes;
            this.areEnvironmentsKnown = areEnvironmentsKnown;
        }

        Decision decide(ObservedProcess process) {
            return switch (process.environ().content()) {
                case ProgramEnviron.Content.Intact(var named) -> {
                    var decision = new Decision(named, MembershipSource.ENVIRON);
                    memory.record(process, decision);
                    yield decision;
                }
                case ProgramEnviron.Content.Unavailable(var reason) -> new Decision(reason, MembershipSource.UNKNOWN);
                case ProgramEnviron.Content.Overwritten() ->
                    memory.recall(process).orElseGet(() -> infer(process));
            };
        }

        private Decision infer(ObservedProcess process) {
            if (!areEnvironmentsKnown) {
                return Decision.unknown("it is unknown which environments list its ancestors");
            }
            if (settled.contains(process.id())) {
                return Decision.unknown("it runs another program than in the last observation");
            }
            if (process.isRootOfMachine()) {
                return unresolved(ROOT);
            }
            var decision = ofAncestors(process).or(() -> ofSession(process)).or(() -> ofCgroup(process));
            decision.filter(found -> !(found.membership() instanceof Membership.Unknown))
                    .ifPresent(found -> memory.record(process, found));
            return decision.orElseGet(
                    () -> isIncomplete(process) ? Decision.unknown(NOTHING_FOUND) : unresolved(NOTHING_FOUND));
        }

        private Decision unresolved(String reason) {
            return isOverwrittenOutside
                    ? new Decision(new Membership.Outside(), MembershipSource.SETTING)
                    : Decision.unknown(reason);
        }

        /**
         * Returns what follows from an environment that lists an ancestor of the process, or itself; empty if none does. It is proof if the
         * environment and both processes have the same user, and if a fact agrees that no other user can write: an intact environ in the
         * session of one of them names the environment too, or did so while the environment listed the pid.
         */
        private Optional<Decision> listing(ObservedProcess ancestor, ObservedProcess process) {
            return listings.of(ancestor).map(listing -> {
                var eid = listing.eid().orElse("");
                var isOwned = listing.eid().isPresent()
                        && listing.owner() != null
                        && listing.owner().equals(process.uid());
                return isOwned && (wasNamed(listing, ancestor) || isNamed(eid, ancestor, process))
                        ? new Decision(new Membership.InEnvironment(eid), MembershipSource.LISTED)
                        : Decision.unknown("nothing proves the entry of envs.json that lists "
                                + (ancestor.pid() == process.pid()
                                        ? "its pid"
                                        : "its ancestor %d".formatted(ancestor.pid())));
            });
        }

        /** Before the start of the ancestor, another process had its pid. */
        private static boolean wasNamed(Listing listing, ObservedProcess ancestor) {
            return listing.named() > ancestor.id().startTime();
        }

        private boolean isNamed(String eid, ObservedProcess ancestor, ObservedProcess process) {
            return Stream.of(List.of(ancestor), processes.session(process), processes.session(ancestor))
                    .flatMap(List::stream)
                    .anyMatch(witness -> witness.names(eid));
        }

        /** Returns what witnesses say that all agree; empty if there are none, or if one cannot be read. */
        private Optional<Decision> agreement(
                ObservedProcess process, Collection<ObservedProcess> witnesses, MembershipSource by, String who) {
            if (witnesses.stream().anyMatch(ObservedProcess::isUnavailable)) {
                return Optional.empty();
            }
            var named = witnesses.stream()
                    .flatMap(witness -> said(witness).stream())
                    .collect(Collectors.toSet());
            if (named.size() > 1) {
                return Optional.of(Decision.unknown("the processes of %s name different environments".formatted(who)));
            }
            return named.stream().findFirst().flatMap(membership -> accept(membership, process, by));
        }

        /** Returns what a witness says; empty if its environ is overwritten, or cannot show the environment that it may have been given. */
        private Optional<Membership> said(ObservedProcess witness) {
            return witness.named()
                    .filter(named -> !(named instanceof Membership.Outside) || !listings.mayHaveEnvironment(witness));
        }

        /**
         * Decides that a process belongs to what a witness names. That it belongs to no environment needs more: no related process
         * and no user of it may have one, because genv gives the id to running shells, whose environs never show it. A relative of a process
         * that is older than the first reading may have had one.
         */
        private Optional<Decision> accept(Membership named, ObservedProcess process, MembershipSource by) {
            if (!(named instanceof Membership.Outside)) {
                return Optional.of(new Decision(named, by));
            }
            return processes.areComplete(process)
                            && process.relations() != null
                            && !listings.isOlder(process)
                            && !listings.owners().contains(process.uid())
                            && !listings.mayHaveEnvironment(process)
                            && !listings.mayLeaderHaveEnvironment(process)
                            && processes.companions(process).stream().noneMatch(this::mayHaveEnvironment)
                    ? Optional.of(new Decision(named, by))
                    : Optional.empty();
        }

        /**
         * Whether more could have been found about a process about which nothing was: a relative was not read, or is no longer listed. Every
         * user can arrange both, so that they do not show that the process belongs to no environment.
         */
        private boolean isIncomplete(ObservedProcess process) {
            return !processes.areComplete(process)
                    || process.relations() == null
                    || listings.hadEnvironment(process)
                    || listings.hadLeaderEnvironment(process)
                    || Stream.concat(processes.ancestors(process), processes.session(process).stream())
                            .anyMatch(relative -> relative.isUnavailable() || listings.hadEnvironment(relative));
        }

        private boolean mayHaveEnvironment(ObservedProcess witness) {
            return witness.isUnavailable()
                    || listings.mayHaveEnvironment(witness)
                    || witness.named()
                            .filter(Membership.InEnvironment.class::isInstance)
                            .isPresent();
        }

        /**
         * The nearest ancestor that an environment lists, or whose environ is intact. A process that lost its parent is adopted by another one,
         * such as the manager of a user's services (PR_SET_CHILD_SUBREAPER of prctl(2)). That one says nothing about it.
         */
        private Optional<Decision> ofAncestors(ObservedProcess process) {
            var passed = new ArrayList<ObservedProcess>();
            var current = process;
            while (passed.size() <= RelatedProcesses.MOST_ANCESTORS) {
                var found = ofAncestor(current, process, passed);
                if (found.isPresent()) {
                    return found;
                }
                var next = processes.parent(current);
                if (next.isEmpty()
                        || (!passed.isEmpty() && current.named().isPresent())
                        || mayHaveAdopted(next.get(), current)) {
                    return Optional.empty();
                }
                passed.add(current);
                current = next.get();
            }
            return Optional.empty();
        }

        private Optional<Decision> ofAncestor(
                ObservedProcess ancestor, ObservedProcess process, List<ObservedProcess> between) {
            var listed = listing(ancestor, process);
            if (listed.isPresent() || ancestor.pid() == process.pid()) {
                return listed;
            }
            if (ancestor.isUnavailable()) {
                return Optional.of(
                        Decision.unknown("the environ of its ancestor %d cannot be read".formatted(ancestor.pid())));
            }
            return ancestor.named()
                    .filter(named -> !(named instanceof Membership.Outside)
                            || Stream.concat(Stream.of(ancestor), between.stream())
                                    .allMatch(passed -> isTrueAncestor(passed, process)))
                    .flatMap(named -> accept(named, process, MembershipSource.ANCESTOR));
        }

        /** Whether a process that names no environment was not given one, and did not adopt the other one. */
        private boolean isTrueAncestor(ObservedProcess ancestor, ObservedProcess process) {
            return ancestor.isInSessionOf(process)
                    && !ancestor.firstOfNamespace()
                    && !listings.mayHaveEnvironment(ancestor);
        }

        /** A process in the session of another one got it from its true parent. One that began a session may have been adopted afterwards. */
        private static boolean mayHaveAdopted(ObservedProcess parent, ObservedProcess child) {
            return !parent.isInSessionOf(child) && !child.leadsSession();
        }

        /** The leader of its session and the members of its process group, which a process keeps when it loses its parent. */
        private Optional<Decision> ofSession(ObservedProcess process) {
            return processes.areComplete(process)
                    ? agreement(process, processes.leaderAndGroup(process), MembershipSource.SESSION, "its session")
                    : Optional.empty();
        }

        /** The processes in its container, or in its scope or service of systemd. */
        private Optional<Decision> ofCgroup(ObservedProcess process) {
            return processes.areComplete(process) && process.cgroup().isUnit()
                    ? agreement(process, processes.unit(process), MembershipSource.CGROUP, "its cgroup")
                    : Optional.empty();
        }
    }
}

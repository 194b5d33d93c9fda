package dev.genv.enforcer.observation.membership;

import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.observation.membership.Listings.Listing;
import dev.genv.enforcer.observation.membership.MembershipResolver.Decision;
import dev.genv.enforcer.observation.membership.RelatedProcesses.RelatedProcess;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The facts of one observation from which memberships are inferred. */
record MembershipFacts(RelatedProcesses processes, Listings listings) {

    /**
     * Returns what follows from an environment that lists an ancestor of the process, or itself; empty if none does. It is proof if the
     * environment and both processes have the same user, and if a fact agrees that no other user can write: an intact environ in the
     * session of one of them names the environment too, or did so while the environment listed the pid.
     */
    private Optional<Decision> listing(RelatedProcess ancestor, RelatedProcess process) {
        return listings.of(ancestor).map(listing -> {
            var eid = listing.eid().orElse("");
            var isOwned = listing.eid().isPresent() && listing.owner() != null && listing.owner() == process.uid();
            return isOwned && (wasNamed(listing, ancestor) || isNamed(eid, ancestor, process))
                    ? new Decision(new Membership.InEnvironment(eid), MembershipSource.LISTED)
                    : Decision.unknown(
                            "nothing proves the entry of envs.json that lists "
                                    + (ancestor.pid() == process.pid()
                                            ? "its pid"
                                            : "its ancestor %d".formatted(ancestor.pid())),
                            ancestor.pid() == process.pid());
        });
    }

    /** Before the start of the ancestor, another process had its pid. */
    private static boolean wasNamed(Listing listing, RelatedProcess ancestor) {
        return listing.named() > ancestor.id().startTime();
    }

    private boolean isNamed(String eid, RelatedProcess ancestor, RelatedProcess process) {
        return Stream.of(List.of(ancestor), processes.session(process), processes.session(ancestor))
                .flatMap(List::stream)
                .anyMatch(witness -> witness.named()
                        .filter(new Membership.InEnvironment(eid)::equals)
                        .isPresent());
    }

    /** Returns what witnesses say that all agree; empty if there are none, or if one cannot be read. */
    private Optional<Decision> agreement(
            RelatedProcess process, Collection<RelatedProcess> witnesses, MembershipSource by, String who) {
        if (witnesses.stream().anyMatch(RelatedProcess::isUnavailable)) {
            return Optional.empty();
        }
        var named =
                witnesses.stream().flatMap(witness -> said(witness).stream()).collect(Collectors.toSet());
        if (named.size() > 1) {
            return Optional.of(Decision.unknown("the processes of %s name different environments".formatted(who)));
        }
        return named.stream().findFirst().flatMap(membership -> accept(membership, process, by));
    }

    /** Returns what a witness says; empty if its environ is overwritten, or cannot show the environment that it may have been given. */
    private Optional<Membership> said(RelatedProcess witness) {
        return witness.named()
                .filter(named -> !(named instanceof Membership.Outside) || !listings.mayHaveEnvironment(witness));
    }

    /**
     * Decides that a process belongs to what a witness names. That it belongs to no environment needs more: no related process
     * and no user of it may have one, because genv gives the id to running shells, whose environs never show it. A relative of a process
     * that is older than the first reading may have had one.
     */
    private Optional<Decision> accept(Membership named, RelatedProcess process, MembershipSource by) {
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
    boolean isIncomplete(RelatedProcess process) {
        return !processes.areComplete(process)
                || process.relations() == null
                || listings.hadEnvironment(process)
                || listings.hadLeaderEnvironment(process)
                || Stream.concat(processes.ancestors(process), processes.session(process).stream())
                        .anyMatch(relative -> relative.isUnavailable() || listings.hadEnvironment(relative));
    }

    private boolean mayHaveEnvironment(RelatedProcess witness) {
        return witness.isUnavailable()
                || listings.mayHaveEnvironment(witness)
                || witness.named()
                        .filter(Membership.InEnvironment.class::isInstance)
                        .isPresent();
    }

    /** Returns what the first of these facts decides about a process which has overwritten its environ; empty if none says anything. */
    Optional<Decision> infer(RelatedProcess process) {
        return ofAncestors(process).or(() -> ofSession(process)).or(() -> ofCgroup(process));
    }

    /**
     * The nearest ancestor that an environment lists, or whose environ is intact. A process that lost its parent is adopted by another one,
     * such as the manager of a user's services (PR_SET_CHILD_SUBREAPER of prctl(2)). That one says nothing about it.
     */
    private Optional<Decision> ofAncestors(RelatedProcess process) {
        var passed = new ArrayList<RelatedProcess>();
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
            RelatedProcess ancestor, RelatedProcess process, List<RelatedProcess> between) {
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
    private boolean isTrueAncestor(RelatedProcess ancestor, RelatedProcess process) {
        return ancestor.isInSessionOf(process)
                && !ancestor.firstOfNamespace()
                && !listings.mayHaveEnvironment(ancestor);
    }

    /** A process in the session of another one got it from its true parent. One that began a session may have been adopted afterwards. */
    private static boolean mayHaveAdopted(RelatedProcess parent, RelatedProcess child) {
        return !parent.isInSessionOf(child) && !child.leadsSession();
    }

    /** The leader of its session and the members of its process group, which a process keeps when it loses its parent. */
    private Optional<Decision> ofSession(RelatedProcess process) {
        return processes.areComplete(process)
                ? agreement(process, processes.leaderAndGroup(process), MembershipSource.SESSION, "its session")
                : Optional.empty();
    }

    /** The processes in its container, or in its scope or service of systemd. */
    private Optional<Decision> ofCgroup(RelatedProcess process) {
        return processes.areComplete(process) && process.cgroup().isUnit()
                ? agreement(process, processes.unit(process), MembershipSource.CGROUP, "its cgroup")
                : Optional.empty();
    }
}

package dev.genv.enforcer.observation;

import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Ternary;
import dev.genv.enforcer.observation.Ancestors.Chain;
import dev.genv.enforcer.observation.ProcessIdentity.ObservedProcess;
import dev.genv.enforcer.observation.ProcessIdentity.ProgramEnviron;
import java.util.LinkedHashMap;
import java.util.Optional;
import java.util.Set;

/**
 * Decides the memberships of processes by what the kernel shows, which no other user can arrange. A process that has overwritten its environ,
 * as setproctitle(3) does, belongs where the service found it before, or where its nearest ancestor with an intact environ is.
 */
final class MembershipResolver {
    /** Incomplete observations forget nothing, and users choose the number of processes. */
    static final int MAX_REMEMBERED = 10_000;

    private static final String NOTHING_FOUND = "no ancestor shows to which environment it belongs";

    private final boolean isOverwrittenOutside;
    /** What was decided by the program that a process ran then: execve(2) ends it. */
    private final LinkedHashMap<ProcessId, Known> decided = new LinkedHashMap<>(16, 0.75f, true);

    private record Known(ProgramEnviron environ, Decision decision) {}

    /**
     * Creates a resolver without memory. If a process has overwritten its environ, and nothing shows where it belongs, it is outside of all
     * environments or its membership is unknown.
     */
    MembershipResolver(boolean isOverwrittenOutside) {
        this.isOverwrittenOutside = isOverwrittenOutside;
    }

    /** A membership, and by what it was decided. */
    record Decision(Membership membership, MembershipSource by) {
        /** Returns the unknown membership of a process that has overwritten its environ. */
        static Decision unknown(String reason) {
            return new Decision(
                    new Membership.Unknown("it has overwritten its environ, and " + reason), MembershipSource.UNKNOWN);
        }
    }

    Decision decide(ObservedProcess process, Chain ancestors) {
        return switch (process.environ().content()) {
            case ProgramEnviron.Content.Intact(var named) -> remember(process, named, MembershipSource.ENVIRON);
            case ProgramEnviron.Content.Unavailable(var reason) -> new Decision(reason, MembershipSource.UNKNOWN);
            case ProgramEnviron.Content.Overwritten() -> recall(process).orElseGet(() -> infer(process, ancestors));
        };
    }

    /**
     * Records that an environment listed a process whose membership an ancestor decided: genv gave its id to a shell in between, whose environ
     * does not show it, and the list can end before the process.
     */
    void rememberOtherListing(ObservedProcess process) {
        if (decided.get(process.id()) instanceof Known(var _, var decision)
                && decision.by == MembershipSource.ANCESTOR) {
            var unknown = Decision.unknown("an environment listed it other than that of its ancestor");
            remember(process, unknown.membership, unknown.by);
        }
    }

    /** Forgets all processes that are no longer on a GPU. */
    void retain(Set<ProcessId> processes) {
        decided.keySet().retainAll(processes);
    }

    private Decision remember(ObservedProcess process, Membership membership, MembershipSource by) {
        var decision = new Decision(membership, by);
        decided.put(process.id(), new Known(process.environ(), decision));
        if (decided.size() > MAX_REMEMBERED) {
            decided.pollFirstEntry();
        }
        return decision;
    }

    private Optional<Decision> recall(ObservedProcess process) {
        return Optional.ofNullable(decided.get(process.id()))
                .filter(known -> known.environ.isOfSameProgram(process.environ()))
                .map(Known::decision)
                .map(known -> known.by == MembershipSource.ENVIRON
                        ? new Decision(known.membership, MembershipSource.EARLIER)
                        : known);
    }

    private Decision infer(ObservedProcess process, Chain ancestors) {
        if (process.isRootOfMachine()) {
            return Decision.unknown("root starts programs for all users, so its other processes prove nothing");
        }
        var child = process;
        for (var ancestor : ancestors.processes()) {
            switch (hasAdopted(ancestor, child)) {
                case YES -> {
                    return undecided();
                }
                case UNKNOWN -> {
                    return Decision.unknown("the session of its ancestor %d is unknown".formatted(ancestor.pid()));
                }
                case NO -> {}
            }
            switch (ancestor.environ().content()) {
                case ProgramEnviron.Content.Overwritten() -> {
                    if (ancestor.environ().addresses() == null) {
                        return Decision.unknown(
                                "its ancestor %d executed a program meanwhile".formatted(ancestor.pid()));
                    }
                    child = ancestor;
                }
                case ProgramEnviron.Content.Unavailable _ -> {
                    return Decision.unknown("the environ of its ancestor %d cannot be read".formatted(ancestor.pid()));
                }
                case ProgramEnviron.Content.Intact(var named) -> {
                    return named instanceof Membership.InEnvironment
                            ? remember(process, named, MembershipSource.ANCESTOR)
                            : undecided(); // genv gives its id to running shells, whose environs never show it
                }
            }
        }
        return ancestors.isComplete() ? undecided() : Decision.unknown("its ancestors cannot be read");
    }

    private Decision undecided() {
        return isOverwrittenOutside
                ? new Decision(new Membership.Outside(), MembershipSource.SETTING)
                : Decision.unknown(NOTHING_FOUND);
    }

    /**
     * Whether the parent may be a subreaper (PR_SET_CHILD_SUBREAPER of prctl(2)), such as the manager of a user's services, that adopted the
     * child of another. What is in its session, or began one, is taken for its own.
     */
    private static Ternary hasAdopted(ObservedProcess parent, ObservedProcess child) {
        return child.leadsSession() ? Ternary.NO : child.isInSessionOf(parent).negate();
    }
}

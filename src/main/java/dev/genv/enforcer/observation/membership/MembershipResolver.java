package dev.genv.enforcer.observation.membership;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.MembershipSource;
import dev.genv.enforcer.model.ProcessId;
import java.util.Collection;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Decides the memberships of processes. A process that has overwritten its environ, as setproctitle(3) does, belongs where the service saw
 * it before, or where its relatives are. Nothing that another user can arrange decides it.
 */
public final class MembershipResolver {
    private static final String NOTHING_FOUND =
            "neither its ancestors nor its session or cgroup show to which environment it belongs";
    private static final String ROOT = "root starts programs for all users, so its other processes prove nothing";

    private final boolean isOverwrittenOutside;
    private final MembershipMemory memory = new MembershipMemory();
    private Listings listings = Listings.NONE;

    /**
     * Creates a resolver without memory.
     *
     * @param isOverwrittenOutside whether a process that has overwritten its environ is outside of all environments if nothing shows the
     *     contrary; otherwise its membership is unknown
     */
    public MembershipResolver(boolean isOverwrittenOutside) {
        this.isOverwrittenOutside = isOverwrittenOutside;
    }

    /** Returns the processes whose relations are not needed in the next observation. */
    public Set<ProcessId> settled() {
        return memory.settled();
    }

    /** One observation. */
    public final class Session {
        private final @Nullable Evidence evidence;
        private final Set<ProcessId> settled = memory.settled();

        private Session(@Nullable Evidence evidence) {
            this.evidence = evidence;
        }

        /** Decides the membership of a process. */
        public Decision decide(RelatedProcess process) {
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

        private Decision infer(RelatedProcess process) {
            if (evidence == null) {
                return Decision.unknown("it is unknown which environments list its ancestors");
            }
            if (settled.contains(process.id())) {
                return Decision.unknown("it runs another program than in the last observation");
            }
            if (process.isRootOfMachine()) {
                return unresolved(ROOT);
            }
            for (var source : Source.ALL) {
                var decision = source.decide(process, evidence);
                if (decision.isPresent()) {
                    return recorded(process, decision.get());
                }
            }
            return evidence.isIncomplete(process) ? Decision.unknown(NOTHING_FOUND) : unresolved(NOTHING_FOUND);
        }

        private Decision recorded(RelatedProcess process, Decision decision) {
            if (!(decision.membership() instanceof Membership.Unknown)) {
                memory.record(process, decision);
            }
            return decision;
        }

        private Decision unresolved(String reason) {
            return isOverwrittenOutside
                    ? new Decision(new Membership.Outside(), MembershipSource.SETTING)
                    : Decision.unknown(reason);
        }
    }

    /**
     * Begins an observation.
     *
     * @param machine the identity of the machine and of its boot; null if unknown
     * @param environments the active environments; null if they are unknown
     * @param ticks when they were read, in clock ticks since boot
     */
    public Session begin(
            @Nullable String machine,
            RelatedProcesses processes,
            @Nullable Collection<Environment> environments,
            long ticks) {
        listings = listings.on(machine);
        if (environments == null) {
            return new Session(null);
        }
        listings = listings.next(environments, processes, ticks);
        return new Session(new Evidence(processes, listings));
    }

    /** Returns the pids that environments list or listed. */
    public Listings listings() {
        return listings;
    }

    /** Continues with the listings of an earlier run of the service. */
    public void restore(Listings earlier) {
        listings = earlier;
    }

    /** Forgets all processes that are no longer on a GPU. */
    public void retain(Set<ProcessId> processes) {
        memory.retain(processes);
    }
}

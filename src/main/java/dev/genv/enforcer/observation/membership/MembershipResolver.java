package dev.genv.enforcer.observation.membership;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.membership.RelatedProcesses.RelatedProcess;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
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
    private final MembershipHistory memory = new MembershipHistory();
    private Listings listings = Listings.NONE;

    /**
     * Creates a resolver without memory. If a process has overwritten its environ, and nothing shows where it belongs, it is outside of all
     * environments or its membership is unknown.
     */
    public MembershipResolver(boolean isOverwrittenOutside) {
        this.isOverwrittenOutside = isOverwrittenOutside;
    }

    /** Returns the processes whose relations are not needed in the next observation. */
    public Set<ProcessId> settled() {
        return memory.settled();
    }

    public final class Session {
        private final @Nullable MembershipFacts evidence;
        private final Set<ProcessId> settled = memory.settled();

        private Session(@Nullable MembershipFacts evidence) {
            this.evidence = evidence;
        }

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
            var decision = evidence.infer(process);
            if (decision.isPresent()) {
                return recorded(process, decision.get());
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
        return new Session(new MembershipFacts(processes, listings));
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

    /** A membership, and by what it was decided. An unknown one is final: no other source can decide it. */
    public record Decision(Membership membership, MembershipSource by) {
        private static final Membership.Unknown UID_UNKNOWN = new Membership.Unknown("its real uid cannot be read");

        /** Returns the unknown membership of a process that has overwritten its environ; an environment may list its pid. */
        static Decision unknown(String reason, boolean listed) {
            return new Decision(
                    new Membership.Unknown("it has overwritten its environ, and " + reason, listed),
                    MembershipSource.UNKNOWN);
        }

        /** Returns the decision about a process whose environ or uid could not be read. */
        public static Decision unavailable(ProgramEnviron environ) {
            return new Decision(
                    environ.content() instanceof ProgramEnviron.Content.Unavailable(var reason) ? reason : UID_UNKNOWN,
                    MembershipSource.UNKNOWN);
        }

        static Decision unknown(String reason) {
            return unknown(reason, false);
        }
    }

    /** The memberships that were decided in earlier observations. Each holds for one program of a process: execve(2) ends it. */
    static final class MembershipHistory {
        /** Incomplete observations forget nothing, and users choose the number of processes. */
        static final int MAX_REMEMBERED = 10_000;

        /** In the order in which they were last used. */
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
                return isOverwritten && !hasChanged && environ.addresses().areKnown();
            }

            Entry overwritten() {
                return new Entry(environ, decision, true, hasChanged);
            }

            Entry changed() {
                return new Entry(environ, decision, isOverwritten, true);
            }
        }

        void record(RelatedProcess process, Decision decision) {
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
        Optional<Decision> recall(RelatedProcess process) {
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
}

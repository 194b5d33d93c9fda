package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.model.Ternary;
import dev.genv.enforcer.observation.ProcessIdentity.ObservedProcess;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The ancestors of the processes on the GPUs, as one observation found them. */
record Ancestors(Map<Integer, ObservedProcess> byPid) {
    private static final int FIRST_PROCESS = 1;

    /** Leaves out the processes that changed while they were read: they are unknown. */
    static Ancestors of(Collection<ProcessIdentity> listed, List<ProcessFacts> others) {
        return of(Stream.concat(listed.stream(), others.stream().map(ProcessIdentity::of))
                .flatMap(each ->
                        each instanceof ProcessIdentity.Present(var process) ? Stream.of(process) : Stream.empty()));
    }

    static Ancestors of(Stream<ObservedProcess> processes) {
        return new Ancestors(processes.collect(
                Collectors.toUnmodifiableMap(ObservedProcess::pid, Function.identity(), (first, _) -> first)));
    }

    /**
     * The ancestors of a process that have its real uid.
     *
     * @param processes the nearest one first
     * @param isComplete false if the next ancestor is unknown
     */
    record Chain(List<ObservedProcess> processes, boolean isComplete) {}

    /**
     * Returns the ancestors up to another real uid, for uid 0 up to the border of its container, or up to the first process, which adopts
     * orphans.
     */
    Chain of(ObservedProcess process) {
        var chain = new ArrayList<ObservedProcess>();
        var child = process;
        while (chain.size() < HostFacts.MOST_STEPS) {
            var relations = child.relations();
            if (relations != null && relations.parent() == FIRST_PROCESS) {
                break;
            }
            var parent = relations == null ? null : byPid.get(relations.parent());
            // The kernel shows 0 for a parent outside the PID namespace. A younger process took over the pid of the
            // parent.
            if (parent == null
                    || parent.relations() == null
                    || parent.id().startTime() > child.id().startTime()) {
                return new Chain(chain, false);
            }
            var isSameUser = parent.hasUserOf(process);
            if (isSameUser != Ternary.YES) {
                return new Chain(chain, isSameUser == Ternary.NO);
            }
            chain.add(parent);
            child = parent;
        }
        return new Chain(chain, true);
    }
}

package dev.genv.enforcer.e2e.fault.remote;

import dev.genv.enforcer.e2e.fault.Fault;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A fault of one machine of a fleet.
 *
 * @param name its description in the table
 * @param inject causes the fault
 * @param undo removes the fault
 * @param strayOutcome what happens to a process outside of all environments that starts on that machine during the fault
 * @param status the status of the machine in {@code /hosts} during the fault
 * @param reported the codes of the problems that {@code /hosts} must report
 * @param possiblyReported the codes that {@code /hosts} may report besides: between two states, or on a busy test machine
 */
record RemoteFault(
        String name,
        Step inject,
        Step undo,
        Fault.StrayOutcome strayOutcome,
        String status,
        Set<String> reported,
        Set<String> possiblyReported) {

    RemoteFault {
        possiblyReported = possiblyReported.stream()
                .filter(code -> !reported.contains(code))
                .collect(Collectors.toUnmodifiableSet());
    }

    /** A change of the machine, or of the program's files about it. */
    interface Step {
        void run(FaultyFleet fleet) throws Exception;
    }

    /** The machine cannot be observed. */
    static RemoteFault unreachable(String name, Step inject, Step undo, String... reported) {
        return new RemoteFault(
                name,
                inject,
                undo,
                Fault.StrayOutcome.TERMINATED_AFTERWARDS,
                "unreachable",
                Set.of(reported),
                Set.of());
    }

    /** The machine answers, but data that the rule needs are missing. */
    static RemoteFault preventingTermination(String name, Step inject, Step undo, String... reported) {
        return new RemoteFault(
                name, inject, undo, Fault.StrayOutcome.TERMINATED_AFTERWARDS, "degraded", Set.of(reported), Set.of());
    }

    /** The fault has no effect on enforcement. */
    static RemoteFault harmless(String name, Step inject, Step undo, String... reported) {
        return new RemoteFault(name, inject, undo, Fault.StrayOutcome.TERMINATED, "ok", Set.of(reported), Set.of());
    }

    RemoteFault mayAlsoReport(String... codes) {
        var all = new HashSet<>(possiblyReported);
        all.addAll(Set.of(codes));
        return new RemoteFault(name, inject, undo, strayOutcome, status, reported, Set.copyOf(all));
    }

    @Override
    public String toString() {
        return name;
    }
}

package dev.genv.enforcer.e2e.fault;

import java.util.HashSet;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Something that goes wrong with one machine of a fleet.
 *
 * @param name what it is, for the table
 * @param inject makes it happen
 * @param undo puts everything right again
 * @param strayOutcome what becomes of a process outside of all environments that is started on that machine while it lasts
 * @param status what {@code /hosts} calls the machine meanwhile
 * @param reported the codes of the problems that {@code /hosts} must tell of it
 * @param possiblyReported the codes that it may tell besides, by chance: on the way from one state to the other, or where whoever runs
 *     the tests is too busy to be asked everything in time
 */
record RemoteFault(
        String name,
        Step inject,
        Step undo,
        Fault.StrayOutcome strayOutcome,
        String status,
        Set<String> reported,
        Set<String> possiblyReported) {

    private static final Set<String> BUSY = Set.of("membership_unknown");

    RemoteFault {
        possiblyReported = possiblyReported.stream()
                .filter(code -> !reported.contains(code))
                .collect(Collectors.toUnmodifiableSet());
    }

    /** Something done to the machine, or to what the program knows of it. */
    interface Step {
        void run(FaultyFleet fleet) throws Exception;
    }

    /** Nothing can be known of it. */
    static RemoteFault unreachable(String name, Step inject, Step undo, String... reported) {
        return new RemoteFault(
                name, inject, undo, Fault.StrayOutcome.TERMINATED_AFTERWARDS, "unreachable", Set.of(reported), BUSY);
    }

    /** It answers, but something cannot be seen that the rule needs. */
    static RemoteFault preventingTermination(String name, Step inject, Step undo, String... reported) {
        return new RemoteFault(
                name, inject, undo, Fault.StrayOutcome.TERMINATED_AFTERWARDS, "degraded", Set.of(reported), BUSY);
    }

    /** It is enforced on as if nothing were. */
    static RemoteFault harmless(String name, Step inject, Step undo, String... reported) {
        return new RemoteFault(name, inject, undo, Fault.StrayOutcome.TERMINATED, "ok", Set.of(reported), BUSY);
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

package dev.genv.enforcer.e2e;

import java.util.HashSet;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Something that goes wrong with one machine of a fleet.
 *
 * @param name what it is, for the table
 * @param make makes it happen
 * @param undo puts everything right again
 * @param stray what becomes of a process outside of all environments that is started on that machine while it lasts
 * @param status what {@code /hosts} calls the machine meanwhile
 * @param told the codes of the problems that {@code /hosts} must tell of it
 * @param perhaps the codes that it may tell besides, by chance: on the way from one state to the other, or where whoever runs
 *     the tests is too busy to be asked everything in time
 */
record RemoteFault(
        String name, Step make, Step undo, Fault.Stray stray, String status, Set<String> told, Set<String> perhaps) {

    private static final Set<String> BUSY = Set.of("membership_unknown");

    RemoteFault {
        perhaps = perhaps.stream().filter(code -> !told.contains(code)).collect(Collectors.toUnmodifiableSet());
    }

    /** Something done to the machine, or to what the program knows of it. */
    interface Step {
        void run(FaultyFleet fleet) throws Exception;
    }

    /** Nothing can be known of it. */
    static RemoteFault unreachable(String name, Step make, Step undo, String... told) {
        return new RemoteFault(name, make, undo, Fault.Stray.SPARED, "unreachable", Set.of(told), BUSY);
    }

    /** It answers, but something cannot be seen that the rule needs. */
    static RemoteFault blinding(String name, Step make, Step undo, String... told) {
        return new RemoteFault(name, make, undo, Fault.Stray.SPARED, "degraded", Set.of(told), BUSY);
    }

    /** It is enforced on as if nothing were. */
    static RemoteFault harmless(String name, Step make, Step undo, String... told) {
        return new RemoteFault(name, make, undo, Fault.Stray.ENDED, "ok", Set.of(told), BUSY);
    }

    RemoteFault perhaps(String... codes) {
        var all = new HashSet<>(perhaps);
        all.addAll(Set.of(codes));
        return new RemoteFault(name, make, undo, stray, status, told, Set.copyOf(all));
    }

    @Override
    public String toString() {
        return name;
    }
}

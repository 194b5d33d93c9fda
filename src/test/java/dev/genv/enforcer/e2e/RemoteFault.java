package dev.genv.enforcer.e2e;

import java.util.Set;

/**
 * Something that goes wrong with one machine of a fleet.
 *
 * @param name what it is, for the table
 * @param make makes it happen
 * @param undo puts everything right again
 * @param stray what becomes of a process outside of all environments that is started on that machine while it lasts
 * @param status what {@code /hosts} calls the machine meanwhile
 * @param told the codes of the problems that {@code /hosts} must tell of it
 * @param perhaps the codes that it may tell besides, by chance
 */
record RemoteFault(
        String name, Step make, Step undo, Fault.Stray stray, String status, Set<String> told, Set<String> perhaps) {

    /** Something done to the machine, or to what the program knows of it. */
    interface Step {
        void run(FaultyFleet fleet) throws Exception;
    }

    /** Nothing can be known of it. */
    static RemoteFault unreachable(String name, Step make, Step undo, String... told) {
        return new RemoteFault(name, make, undo, Fault.Stray.SPARED, "unreachable", Set.of(told), Set.of());
    }

    /** It answers, but something cannot be seen that the rule needs. */
    static RemoteFault blinding(String name, Step make, Step undo, String... told) {
        return new RemoteFault(name, make, undo, Fault.Stray.SPARED, "degraded", Set.of(told), Set.of());
    }

    /** It is enforced on as if nothing were. */
    static RemoteFault harmless(String name, Step make, Step undo, String... told) {
        return new RemoteFault(name, make, undo, Fault.Stray.ENDED, "ok", Set.of(told), Set.of());
    }

    RemoteFault perhaps(String... codes) {
        return new RemoteFault(name, make, undo, stray, status, told, Set.of(codes));
    }

    @Override
    public String toString() {
        return name;
    }
}

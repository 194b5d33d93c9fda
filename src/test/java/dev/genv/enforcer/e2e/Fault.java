package dev.genv.enforcer.e2e;

import dev.genv.enforcer.testsupport.Child;
import java.util.Map;
import java.util.Set;

/**
 * Something that goes wrong around a running service.
 *
 * @param name what it is, for the table
 * @param make makes it happen
 * @param undo puts everything right again
 * @param stray what becomes of a process outside of all environments that is started while it lasts
 * @param told the codes of the problems that {@code /hosts} must tell; none where nothing is lost by it
 * @param perhaps the codes that it may tell besides, by chance
 * @param toldInLog what a line of the log must contain; empty where {@code /hosts} is enough
 * @param onTheLock whether it is about genv's lock itself, so that others must wait for it too
 * @param mortal whether nothing but a new container helps, so that liveness must turn down
 * @param process starts that process
 */
record Fault(
        String name,
        Step make,
        Step undo,
        Stray stray,
        Set<String> told,
        Set<String> perhaps,
        String toldInLog,
        boolean onTheLock,
        boolean mortal,
        Starter process) {

    /** Something done to a node. */
    interface Step {
        void run(FaultyNode node) throws Exception;
    }

    /** A way to start a process. */
    interface Starter {
        Child start() throws Exception;
    }

    /** What becomes of a process that breaks a rule. */
    enum Stray {
        ENDED("terminated during the fault"),
        SPARED("terminated after the fault");

        final String words;

        Stray(String words) {
            this.words = words;
        }
    }

    /** The rules can still be applied. */
    static Fault harmless(String name, Step make, Step undo, String... told) {
        return of(name, make, undo, Stray.ENDED, told);
    }

    /** What the rule for such a process needs cannot be known. */
    static Fault blinding(String name, Step make, Step undo, String... told) {
        return of(name, make, undo, Stray.SPARED, told);
    }

    Fault perhaps(String... codes) {
        return new Fault(name, make, undo, stray, told, Set.of(codes), toldInLog, onTheLock, mortal, process);
    }

    Fault thatIsMortal() {
        return new Fault(name, make, undo, stray, told, perhaps, toldInLog, onTheLock, true, process);
    }

    Fault onTheLockItself() {
        return new Fault(name, make, undo, stray, told, perhaps, toldInLog, true, mortal, process);
    }

    Fault toldInLog(String words) {
        return new Fault(name, make, undo, stray, told, perhaps, words, onTheLock, mortal, process);
    }

    Fault with(Starter starter) {
        return new Fault(name, make, undo, stray, told, perhaps, toldInLog, onTheLock, mortal, starter);
    }

    @Override
    public String toString() {
        return name;
    }

    private static Fault of(String name, Step make, Step undo, Stray stray, String... told) {
        return new Fault(
                name,
                make,
                undo,
                stray,
                Set.of(told),
                Set.of(),
                "",
                false,
                false,
                () -> Child.withEnvironment(Map.of()));
    }
}

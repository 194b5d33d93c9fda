package dev.genv.enforcer.e2e.fault;

import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.util.Map;
import java.util.Set;

/** A fault while a service runs. Its name is its description in the table. */
final class Fault {
    final String name;
    final Step inject;
    final Step undo;
    /** Whether a process outside of all environments that starts during the fault is terminated only after it. */
    final boolean preventsTermination;
    /** The codes of the problems that {@code /hosts} must report. */
    final Set<String> reported;
    /** The codes that {@code /hosts} may report besides: between two states, or on a busy test machine. */
    Set<String> possiblyReported = Set.of();
    /** Text that a line of the log must contain; empty for none. */
    String logText = "";
    /** Whether other programs must wait for genv's lock too. */
    boolean affectsLock;
    /** Whether only a new container helps, so that liveness must fail. */
    boolean failsLiveness;
    /** Starts the process. */
    Starter starter = () -> Child.withEnvironment(Map.of());

    private Fault(String name, Step inject, Step undo, boolean preventsTermination, String... reported) {
        this.name = name;
        this.inject = inject;
        this.undo = undo;
        this.preventsTermination = preventsTermination;
        this.reported = Set.of(reported);
    }

    /** A change of a node. */
    interface Step {
        void run(FaultyNode node) throws Exception;
    }

    /** A way to start a process. */
    interface Starter {
        Child start() throws IOException;
    }

    /** The rules can still be applied. */
    static Fault harmless(String name, Step inject, Step undo, String... reported) {
        return new Fault(name, inject, undo, false, reported);
    }

    /** The data that the rule needs are missing. */
    static Fault preventingTermination(String name, Step inject, Step undo, String... reported) {
        return new Fault(name, inject, undo, true, reported);
    }

    Fault mayAlsoReport(String... codes) {
        possiblyReported = Set.of(codes);
        return this;
    }

    Fault affectingLock() {
        affectsLock = true;
        return this;
    }

    @Override
    public String toString() {
        return name;
    }
}

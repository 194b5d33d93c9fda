package dev.genv.enforcer.e2e.fault;

import dev.genv.enforcer.testsupport.linux.Child;
import java.util.Map;
import java.util.Set;

/**
 * A fault while a service runs.
 *
 * @param name its description in the table
 * @param inject causes the fault
 * @param undo removes the fault
 * @param strayOutcome what happens to a process outside of all environments that starts during the fault
 * @param reported the codes of the problems that {@code /hosts} must report
 * @param possiblyReported the codes that {@code /hosts} may report besides
 * @param logText text that a line of the log must contain; empty for none
 * @param affectsLock whether other programs must wait for genv's lock too
 * @param failsLiveness whether only a new container helps, so that liveness must fail
 * @param starter starts the process
 */
public record Fault(
        String name,
        Step inject,
        Step undo,
        StrayOutcome strayOutcome,
        Set<String> reported,
        Set<String> possiblyReported,
        String logText,
        boolean affectsLock,
        boolean failsLiveness,
        Starter starter) {

    /** A change of a node. */
    interface Step {
        void run(FaultyNode node) throws Exception;
    }

    /** A way to start a process. */
    interface Starter {
        Child start() throws Exception;
    }

    /** What happens to a process that breaks a rule. */
    public enum StrayOutcome {
        TERMINATED("terminated during the fault"),
        TERMINATED_AFTERWARDS("terminated after the fault");

        public final String description;

        StrayOutcome(String words) {
            this.description = words;
        }
    }

    /** The rules can still be applied. */
    static Fault harmless(String name, Step inject, Step undo, String... reported) {
        return of(name, inject, undo, StrayOutcome.TERMINATED, reported);
    }

    /** The data that the rule needs are missing. */
    static Fault preventingTermination(String name, Step inject, Step undo, String... reported) {
        return of(name, inject, undo, StrayOutcome.TERMINATED_AFTERWARDS, reported);
    }

    Fault mayAlsoReport(String... codes) {
        return new Fault(
                name,
                inject,
                undo,
                strayOutcome,
                reported,
                Set.of(codes),
                logText,
                affectsLock,
                failsLiveness,
                starter);
    }

    Fault failingLiveness() {
        return new Fault(
                name, inject, undo, strayOutcome, reported, possiblyReported, logText, affectsLock, true, starter);
    }

    Fault affectingLock() {
        return new Fault(
                name, inject, undo, strayOutcome, reported, possiblyReported, logText, true, failsLiveness, starter);
    }

    Fault withLogText(String words) {
        return new Fault(
                name,
                inject,
                undo,
                strayOutcome,
                reported,
                possiblyReported,
                words,
                affectsLock,
                failsLiveness,
                starter);
    }

    Fault withProcess(Starter starter) {
        return new Fault(
                name,
                inject,
                undo,
                strayOutcome,
                reported,
                possiblyReported,
                logText,
                affectsLock,
                failsLiveness,
                starter);
    }

    @Override
    public String toString() {
        return name;
    }

    private static Fault of(String name, Step inject, Step undo, StrayOutcome stray, String... reported) {
        return new Fault(
                name,
                inject,
                undo,
                stray,
                Set.of(reported),
                Set.of(),
                "",
                false,
                false,
                () -> Child.withEnvironment(Map.of()));
    }
}

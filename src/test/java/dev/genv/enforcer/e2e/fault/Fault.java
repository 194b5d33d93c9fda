package dev.genv.enforcer.e2e.fault;

import dev.genv.enforcer.testsupport.Child;
import java.util.Map;
import java.util.Set;

/**
 * Something that goes wrong around a running service.
 *
 * @param name what it is, for the table
 * @param inject makes it happen
 * @param undo puts everything right again
 * @param strayOutcome what becomes of a process outside of all environments that is started while it lasts
 * @param reported the codes of the problems that {@code /hosts} must tell; none where nothing is lost by it
 * @param possiblyReported the codes that it may tell besides, by chance
 * @param logText what a line of the log must contain; empty where {@code /hosts} is enough
 * @param affectsLock whether it is about genv's lock itself, so that others must wait for it too
 * @param failsLiveness whether nothing but a new container helps, so that liveness must turn down
 * @param starter starts that process
 */
record Fault(
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

    /** Something done to a node. */
    interface Step {
        void run(FaultyNode node) throws Exception;
    }

    /** A way to start a process. */
    interface Starter {
        Child start() throws Exception;
    }

    /** What becomes of a process that breaks a rule. */
    enum StrayOutcome {
        TERMINATED("terminated during the fault"),
        TERMINATED_AFTERWARDS("terminated after the fault");

        final String description;

        StrayOutcome(String words) {
            this.description = words;
        }
    }

    /** The rules can still be applied. */
    static Fault harmless(String name, Step inject, Step undo, String... reported) {
        return of(name, inject, undo, StrayOutcome.TERMINATED, reported);
    }

    /** What the rule for such a process needs cannot be known. */
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

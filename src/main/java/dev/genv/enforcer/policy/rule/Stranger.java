package dev.genv.enforcer.policy.rule;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import java.util.List;
import java.util.Set;

/**
 * A process in an environment of another user.
 *
 * @param isProven whether the kernel provides the uids of both sides
 */
record Stranger(Environment environment, GpuProcess process, boolean isProven) {

    /** Returns the strangers of all environments of a machine. */
    static List<Stranger> of(Snapshot snapshot) {
        var processes = snapshot.processesByEnvironment();
        return snapshot.environments().stream()
                .flatMap(environment -> processes.getOrDefault(environment.eid(), List.of()).stream()
                        .filter(process -> isStranger(snapshot, process, environment))
                        .map(process -> new Stranger(environment, process, isProven(snapshot, environment))))
                .toList();
    }

    /** A subordinate uid of the environment's user counts as that user, as in a user namespace. */
    private static boolean isStranger(Snapshot snapshot, GpuProcess process, Environment environment) {
        var uid = snapshot.userOf(process.uid(), environment);
        return uid != null && uid != 0 && environment.uid() != null && !uid.equals(environment.uid());
    }

    /**
     * Whether the kernel proves the owner of an environment: all its live pids have the recorded uid, and so has the shell that it is
     * named after, because another user may have replaced its entry. A container of genv's toolkit records root without a name.
     */
    private static boolean isProven(Snapshot snapshot, Environment environment) {
        return snapshot.has(SnapshotPart.PROCESSES)
                && !environment.ownership().isDisputed()
                && environment.user().isPresent()
                && environment.uid() != null
                && environment.ownership().uids().equals(Set.of(environment.uid()))
                && environment
                        .shell()
                        .map(snapshot.uidsOfPids()::get)
                        .filter(uid -> !uid.equals(environment.uid()))
                        .isEmpty();
    }
}

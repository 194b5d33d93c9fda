package dev.genv.enforcer.observation.genv;

import dev.genv.enforcer.format.GenvSnapshot;
import dev.genv.enforcer.format.GenvWarnings;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.SnapshotPart;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** The processes that genv lists. Their start times and users are unknown. */
public final class GenvProcesses {
    private GenvProcesses() {}

    /** Returns the processes that had not exited when genv read them, each with the membership that its environ names. */
    static Found<List<GpuProcess>> of(GenvSnapshot snapshot) {
        var listed = snapshot.processes();
        var found = Found.of(present(snapshot).toList(), listed.problems());
        return listed.unread() > 0 ? found.without(SnapshotPart.EVERY_PROCESS) : found;
    }

    /** Returns a process with its membership resolved by the environments; empty if it has exited. */
    public static Optional<GpuProcess> find(int pid, GenvSnapshot snapshot) {
        return present(snapshot)
                .filter(process -> process.pid() == pid)
                .findFirst()
                .map(process -> process.with(resolveMembership(process, snapshot)));
    }

    /** Environments can list millions of pids, so only this one is looked up. */
    private static Membership resolveMembership(GpuProcess process, GenvSnapshot snapshot) {
        var listing = snapshot.envs().environments().stream()
                .filter(environment -> environment.pids().contains(process.pid()))
                .limit(1)
                .map(environment -> environment.with(List.of(process.pid())))
                .toList();
        return Membership.resolve(process.membership(), process.pid(), Membership.ofListedPids(listing));
    }

    private static Stream<GpuProcess> present(GenvSnapshot snapshot) {
        var warnings = snapshot.warnings();
        return snapshot.processes().processes().stream()
                .filter(process -> !warnings.gone().contains(process.pid()))
                .map(process -> process.with(membership(process, warnings)));
    }

    /** Returns the membership of a listed process, which is unknown if genv may not have read it. */
    private static Membership membership(GpuProcess process, GenvWarnings warnings) {
        return process.membership() instanceof Membership.Outside
                        && (warnings.mayBeCut() || warnings.unreadable().contains(process.pid()))
                ? new Membership.Unknown("genv was not permitted to read its environment: it needs root")
                : process.membership();
    }
}

package dev.genv.enforcer.node.protection;

import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Immunity;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.proc.ProcessProbe;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Decides which processes are never terminated. It uses facts of the kernel only, because a process chooses its name, its arguments
 * and its variables.
 *
 * @param exempt the exempt uids
 * @param files the protected programs
 */
public record ImmunityCheck(ProcFs proc, Accounts accounts, Set<Long> exempt, List<ProtectedFile> files) {
    private static final int FIRST_PROCESS = 1;
    private static final long OWN_PID = ProcessHandle.current().pid();

    public ImmunityCheck {
        exempt = Set.copyOf(exempt);
        files = List.copyOf(files);
    }

    /** Returns why a process is never terminated; null if it may be. */
    @Nullable
    public Immunity immunity(ProcessProbe.ObservedProcess process) {
        var reason = whatItIs(process);
        if (reason != null) {
            return new Immunity(Immunity.Kind.PROTECTED, reason);
        }
        var uid = process.uid();
        return uid != null && exempt.contains(uid)
                ? new Immunity(Immunity.Kind.EXEMPT, "it belongs to uid %d, which is exempt".formatted(uid))
                : null;
    }

    private @Nullable String whatItIs(ProcessProbe.ObservedProcess process) {
        if (process.id().pid() == FIRST_PROCESS) {
            return "it is the first process of the machine";
        }
        if (process.id().pid() == OWN_PID) {
            return "it is genv-enforcer itself";
        }
        return process.kernelThread() ? "it is a kernel thread" : whatItRuns(process);
    }

    private @Nullable String whatItRuns(ProcessProbe.ObservedProcess process) {
        var candidates =
                files.stream().filter(file -> file.appliesTo(process.uid())).toList();
        if (candidates.isEmpty()) {
            return null;
        }
        try {
            var program = proc.program(process.id().pid());
            for (var file : candidates) {
                if (file.isOf(program)) {
                    return "it runs " + file.path();
                }
            }
        } catch (IOException e) {
            return "it is unknown whether it runs a protected program: " + e;
        }
        return candidates.stream()
                .filter(file -> file.status() == null)
                .findFirst()
                .map(file -> "it is unknown whether it runs %s".formatted(file.path()))
                .orElse(null);
    }
}

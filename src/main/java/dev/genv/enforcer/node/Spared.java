package dev.genv.enforcer.node;

import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Immunity;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Who is never ended, as it was at one moment. Only the kernel is asked: a process can choose its name, its arguments and
 * its variables.
 *
 * @param exempt the uids of which nothing is ended
 * @param files the programs that are protected
 */
record Spared(ProcFs proc, Accounts accounts, Set<Long> exempt, List<ProtectedFile> files) {
    private static final int FIRST_PROCESS = 1;
    private static final long OURSELVES = ProcessHandle.current().pid();

    Spared {
        exempt = Set.copyOf(exempt);
        files = List.copyOf(files);
    }

    /** Why this process is never ended; null where it can be. */
    @Nullable
    Immunity immunity(ProcessProbe.Seen process) {
        var reason = whatItIs(process);
        if (reason != null) {
            return new Immunity(Immunity.Kind.PROTECTED, reason);
        }
        var uid = process.uid();
        return uid != null && exempt.contains(uid)
                ? new Immunity(Immunity.Kind.EXEMPT, "it belongs to uid %d, of whom nothing is ended".formatted(uid))
                : null;
    }

    private @Nullable String whatItIs(ProcessProbe.Seen process) {
        if (process.id().pid() == FIRST_PROCESS) {
            return "it is the first process of the machine";
        }
        if (process.id().pid() == OURSELVES) {
            return "it is genv-enforcer itself";
        }
        return process.kernelThread() ? "it is a thread of the kernel" : whatItRuns(process);
    }

    private @Nullable String whatItRuns(ProcessProbe.Seen process) {
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
            return "whether it runs a protected program cannot be told: " + e;
        }
        return candidates.stream()
                .filter(file -> file.status() == null)
                .findFirst()
                .map(file -> "whether it runs %s cannot be told".formatted(file.path()))
                .orElse(null);
    }
}

package dev.genv.enforcer.node;

import dev.genv.enforcer.model.Environment;
import java.io.IOException;
import java.util.Collection;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Tells which environments are alive: one of their pids is there, as a zombie even, or one of their Jupyter kernels is. */
final class Liveness {
    private final ProcFs proc;
    private final Collection<Environment> environments;
    /** Which kernels run; searched for once, and only if some environment has kernels alone. */
    private KernelSearch.@Nullable Result kernels;

    private boolean doubtful;

    /** What runs; read once, for a file can list any number of pids. */
    private @Nullable Set<Integer> running;

    /**
     * For one look.
     *
     * @param environments all that are asked for
     */
    Liveness(ProcFs proc, Collection<Environment> environments) {
        this.proc = proc;
        this.environments = environments;
    }

    boolean isAlive(Environment environment) throws IOException {
        if (environment.pids().stream().anyMatch(running()::contains)) {
            return true;
        }
        return !environment.kernelIds().isEmpty() && mayHaveKernel(environment);
    }

    /** Which processes may be kernels that were not found; empty where nothing depends on them. */
    Optional<String> unsearched() {
        return doubtful && kernels != null ? Optional.ofNullable(kernels.unsearched()) : Optional.empty();
    }

    /** The same environment with those of its pids alone that are there: the others mean nothing, and may be many. */
    Environment withoutDeadPids(Environment environment) throws IOException {
        var there = running();
        return environment.with(
                environment.pids().stream().distinct().filter(there::contains).toList());
    }

    private Set<Integer> running() throws IOException {
        if (running == null) {
            running = new HashSet<>(proc.pids());
        }
        return running;
    }

    /** A kernel that was not found may be one of the processes that were not searched: then its environment lives. */
    private boolean mayHaveKernel(Environment environment) throws IOException {
        var result = kernels();
        if (environment.kernelIds().stream().map(Liveness::file).anyMatch(result.files()::contains)) {
            return true;
        }
        doubtful |= result.unsearched() != null;
        return result.unsearched() != null;
    }

    private KernelSearch.Result kernels() throws IOException {
        if (kernels == null) {
            var wanted = new HashSet<String>();
            var owners = new HashSet<Long>();
            for (var environment : environments) {
                environment.kernelIds().stream().map(Liveness::file).forEach(wanted::add);
                if (!environment.kernelIds().isEmpty() && environment.uid() != null) {
                    owners.add(environment.uid());
                }
            }
            kernels = new KernelSearch(proc).search(wanted, owners);
        }
        return kernels;
    }

    private static String file(String kernel) {
        return "kernel-" + kernel + ".json";
    }
}

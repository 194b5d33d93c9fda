package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.model.Environment;
import java.io.IOException;
import java.util.Collection;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Decides which environments are active: one of their pids exists, even as a zombie, or one of their Jupyter kernels runs. */
final class Liveness {
    private final ProcFs proc;
    private final Collection<Environment> environments;
    /** The running kernels. They are searched once, and only if an environment has kernels and no live pid. */
    private KernelSearch.@Nullable Result kernels;

    private boolean uncertain;

    /** The running processes. They are read once, because a file can list any number of pids. */
    private @Nullable Set<Integer> running;

    /**
     * Creates the liveness of one observation.
     *
     * @param environments the environments to check
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

    /** Returns which processes may be kernels that were not found; empty if no environment depends on them. */
    Optional<String> unsearched() {
        return uncertain && kernels != null ? Optional.ofNullable(kernels.unsearched()) : Optional.empty();
    }

    /** Returns the environment with its live pids only, because there may be many others. */
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

    /** A missing kernel may be a process that was not searched; then its environment counts as active. */
    private boolean mayHaveKernel(Environment environment) throws IOException {
        var result = kernels();
        if (environment.kernelIds().stream().map(Liveness::file).anyMatch(result.files()::contains)) {
            return true;
        }
        uncertain |= result.unsearched() != null;
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

package dev.genv.enforcer.node;

import dev.genv.enforcer.model.Environment;
import java.io.IOException;
import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Tells which environments are alive: one of their pids is there, as a zombie even, or one of their Jupyter kernels is. */
final class Liveness {
    private final ProcFs proc;
    private final Collection<Environment> environments;
    /** The files of the kernels that run; looked for once, and only if some environment has kernels alone. */
    private @Nullable Set<String> kernelFiles;

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
        return !environment.kernelIds().isEmpty()
                && environment.kernelIds().stream().map(Liveness::file).anyMatch(kernelFiles()::contains);
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

    /**
     * A kernel is a process that was started with the path of {@code kernel-<id>.json}. They are looked up, not compared
     * one with another, and only what is looked for is kept: users choose how many there are of both.
     */
    private Set<String> kernelFiles() throws IOException {
        if (kernelFiles == null) {
            var wanted = environments.stream()
                    .flatMap(environment -> environment.kernelIds().stream())
                    .map(Liveness::file)
                    .collect(Collectors.toSet());
            var files = new HashSet<String>();
            for (var pid : proc.pids()) {
                for (var argument : proc.arguments(pid)) {
                    var name = argument.substring(Math.max(argument.lastIndexOf('/'), argument.lastIndexOf('=')) + 1);
                    if (wanted.contains(name)) {
                        files.add(name);
                    }
                }
            }
            kernelFiles = files;
        }
        return kernelFiles;
    }

    private static String file(String kernel) {
        return "kernel-" + kernel + ".json";
    }
}

package dev.genv.enforcer.node;

import dev.genv.enforcer.model.Environment;
import java.io.IOException;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Tells which environments are alive: one of their pids is there, as a zombie even, or one of their Jupyter kernels is. */
final class Liveness {
    private final ProcFs proc;
    /** What could be a kernel's file among all arguments; read once, and only if some environment has kernels alone. */
    private @Nullable Set<String> kernelFiles;

    /** What runs; read once, for a file can list any number of pids. */
    private @Nullable Set<Integer> running;

    Liveness(ProcFs proc) {
        this.proc = proc;
    }

    boolean isAlive(Environment environment) throws IOException {
        if (environment.pids().stream().anyMatch(running()::contains)) {
            return true;
        }
        for (var kernel : environment.kernelIds()) {
            if (kernelFiles().contains("kernel-" + kernel + ".json")) {
                return true;
            }
        }
        return false;
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
     * one with another: users choose how many there are of both.
     */
    private Set<String> kernelFiles() throws IOException {
        if (kernelFiles == null) {
            var files = new HashSet<String>();
            for (var pid : proc.pids()) {
                for (var argument : proc.arguments(pid)) {
                    if (argument.endsWith(".json")) {
                        files.add(
                                argument.substring(Math.max(argument.lastIndexOf('/'), argument.lastIndexOf('=')) + 1));
                    }
                }
            }
            kernelFiles = files;
        }
        return kernelFiles;
    }
}

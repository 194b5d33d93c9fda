package dev.genv.enforcer.node;

import dev.genv.enforcer.model.Environment;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Tells which environments are alive: one of their pids is there, as a zombie even, or one of their Jupyter kernels is. */
final class Liveness {
    private final ProcFs proc;
    /** All arguments of all processes; read once, and only if some environment has nothing but kernels. */
    private @Nullable List<String> arguments;

    Liveness(ProcFs proc) {
        this.proc = proc;
    }

    boolean isAlive(Environment environment) throws IOException {
        if (environment.pids().stream().anyMatch(proc::exists)) {
            return true;
        }
        for (var kernel : environment.kernelIds()) {
            if (runs(kernel)) {
                return true;
            }
        }
        return false;
    }

    /** A kernel is a process that was started with the path of {@code kernel-<id>.json}. */
    private boolean runs(String kernel) throws IOException {
        var file = "kernel-" + kernel + ".json";
        return arguments().stream().anyMatch(argument -> {
            var before = argument.length() - file.length() - 1;
            return argument.endsWith(file)
                    && (before < 0 || argument.charAt(before) == '/' || argument.charAt(before) == '=');
        });
    }

    private List<String> arguments() throws IOException {
        if (arguments == null) {
            arguments = proc.pids().stream()
                    .flatMap(pid -> proc.arguments(pid).stream())
                    .filter(argument -> argument.endsWith(".json"))
                    .toList();
        }
        return arguments;
    }
}

package dev.genv.enforcer.observation.state;

import dev.genv.enforcer.facts.LivenessFacts;
import dev.genv.enforcer.facts.LivenessFacts.Kernels;
import dev.genv.enforcer.facts.LivenessFacts.LiveProcess;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The active environments of a machine: one of their pids exists, even as a zombie, or one of their Jupyter kernels runs.
 *
 * @param environments each with its live pids only, because there may be many others
 * @param running the running processes by pid, as far as they are known
 */
public record ActiveEnvironments(List<Environment> environments, Map<Integer, LiveProcess> running) {
    /** Decides which of the environments are active. They are missing if the running processes are unknown. */
    public static Found<ActiveEnvironments> of(LivenessFacts facts, Collection<Environment> environments) {
        return switch (facts.processes()) {
            case Reading.Value<List<LiveProcess>>(var processes) -> of(processes, facts.kernels(), environments);
            case Reading.Failed<List<LiveProcess>>(var _, var reason) ->
                Found.of(new ActiveEnvironments(List.of(), Map.of()))
                        .without(SnapshotPart.ENVIRONMENTS)
                        .with(new Problem(
                                ProblemCode.PROC_UNREADABLE, "the active environments are unknown: " + reason));
        };
    }

    private static Found<ActiveEnvironments> of(
            List<LiveProcess> processes, Kernels kernels, Collection<Environment> environments) {
        var running = new HashMap<Integer, LiveProcess>();
        processes.forEach(process -> running.put(process.pid(), process));
        var active = new ArrayList<Environment>();
        var uncertain = false;
        for (var environment : environments) {
            var pids = environment.pids().stream()
                    .distinct()
                    .filter(running::containsKey)
                    .toList();
            var isActive = !pids.isEmpty() || hasKernel(environment, kernels);
            // A missing kernel may be a process that was not searched; then its environment counts as active.
            var mayBeActive = !isActive
                    && !environment.kernelIds().isEmpty()
                    && !kernels.unsearched().isEmpty();
            if (isActive || mayBeActive) {
                active.add(environment.with(pids));
            }
            uncertain |= mayBeActive;
        }
        var found = Found.of(new ActiveEnvironments(active, running));
        return uncertain
                ? found.with(new Problem(
                        ProblemCode.KERNELS_UNKNOWN,
                        "the running Jupyter kernels are unknown, so environments with kernels count as active: "
                                + kernels.unsearched()))
                : found;
    }

    private static boolean hasKernel(Environment environment, Kernels kernels) {
        return environment.kernelIds().stream()
                .anyMatch(kernel -> kernels.files().contains("kernel-" + kernel + ".json"));
    }

    /** Returns the real uids of the live pids that the active environments list or are named after, as far as they are known. */
    public Map<Integer, Long> uids() {
        var uids = new HashMap<Integer, Long>();
        for (var environment : environments) {
            environment.pids().forEach(pid -> addUid(pid, uids));
            environment.shell().ifPresent(pid -> addUid(pid, uids));
        }
        return uids;
    }

    private void addUid(int pid, Map<Integer, Long> uids) {
        var process = running.get(pid);
        if (process != null && process.uid() != null) {
            uids.put(pid, process.uid());
        }
    }
}

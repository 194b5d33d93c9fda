package dev.genv.enforcer.observation.state;

import dev.genv.enforcer.facts.LivenessFacts;
import dev.genv.enforcer.facts.LivenessFacts.LiveProcess;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.problem.Problem;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Decides from facts which environments are active: one of their pids exists, even as a zombie, or one of their Jupyter kernels runs. */
public final class FactsLiveness implements LivenessSource {
    private final LivenessFacts facts;
    private final Map<Integer, LiveProcess> running = new HashMap<>();
    private boolean uncertain;

    public FactsLiveness(LivenessFacts facts) {
        this.facts = facts;
        if (facts.processes() instanceof Reading.Value<List<LiveProcess>>(var processes)) {
            processes.forEach(process -> running.put(process.pid(), process));
        }
    }

    @Override
    public Optional<String> failure() {
        return facts.processes() instanceof Reading.Failed<List<LiveProcess>>(var _, var reason)
                ? Optional.of(reason)
                : Optional.empty();
    }

    @Override
    public List<Environment> alive(Collection<Environment> environments) {
        var alive = new ArrayList<Environment>();
        for (var environment : environments) {
            var pids = environment.pids().stream()
                    .distinct()
                    .filter(running::containsKey)
                    .toList();
            if (!pids.isEmpty() || mayHaveKernel(environment)) {
                alive.add(environment.with(pids));
            }
        }
        return alive;
    }

    @Override
    public Map<Integer, Long> uids(Collection<Environment> environments) {
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

    @Override
    public Optional<Long> startOf(int pid) {
        return Optional.ofNullable(running.get(pid)).map(LiveProcess::startTime);
    }

    @Override
    public Optional<Problem> uncertainty() {
        return uncertain
                ? Optional.of(LivenessSource.kernelsUnknown(facts.kernels().unsearched()))
                : Optional.empty();
    }

    /** A missing kernel may be a process that was not searched; then its environment counts as active. */
    private boolean mayHaveKernel(Environment environment) {
        if (environment.kernelIds().stream()
                .anyMatch(kernel -> facts.kernels().files().contains("kernel-" + kernel + ".json"))) {
            return true;
        }
        var unknown = !environment.kernelIds().isEmpty()
                && !facts.kernels().unsearched().isEmpty();
        uncertain |= unknown;
        return unknown;
    }
}

package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.facts.LivenessFacts;
import dev.genv.enforcer.facts.LivenessFacts.Kernels;
import dev.genv.enforcer.facts.LivenessFacts.LiveProcess;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.facts.Reading.Failure;
import dev.genv.enforcer.facts.StateFacts.StateFile;
import dev.genv.enforcer.files.ErrorText;
import dev.genv.enforcer.format.EnvsFile;
import dev.genv.enforcer.format.json.GenvJson;
import dev.genv.enforcer.format.json.UnreadableException;
import dev.genv.enforcer.format.linux.ProcStat;
import dev.genv.enforcer.model.Environment;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;

/** Finds the processes and Jupyter kernels that {@code envs.json} lists. */
public final class LivenessReader {
    private static final LivenessFacts NOTHING_LISTED = new LivenessFacts(Reading.of(List.of()), Kernels.NONE);

    private final ProcFs proc;

    public LivenessReader(ProcFs proc) {
        this.proc = proc;
    }

    /**
     * Reads the facts.
     *
     * @param envs {@code envs.json}; nothing is read for a file that cannot be parsed
     */
    public LivenessFacts read(StateFile envs) {
        var environments = environments(envs);
        if (environments.isEmpty()) {
            return NOTHING_LISTED;
        }
        try {
            var running = new HashSet<>(proc.pids());
            return new LivenessFacts(Reading.of(processes(environments, running)), kernels(environments, running));
        } catch (IOException e) {
            return new LivenessFacts(Reading.failed(Failure.OTHER, ErrorText.of(e)), Kernels.NONE);
        }
    }

    private static List<Environment> environments(StateFile envs) {
        try {
            return envs instanceof StateFile.Present(var content)
                    ? EnvsFile.of(GenvJson.read(content.array())).environments()
                    : List.of();
        } catch (UnreadableException e) {
            return List.of();
        }
    }

    private List<LiveProcess> processes(List<Environment> environments, Set<Integer> running) throws IOException {
        var shells = environments.stream()
                .flatMap(environment -> environment.shell().stream())
                .collect(Collectors.toSet());
        var listed = environments.stream()
                .flatMap(environment -> environment.pids().stream())
                .collect(Collectors.toCollection(HashSet::new));
        listed.addAll(shells);
        listed.retainAll(running); // there may be many others
        var processes = new ArrayList<LiveProcess>();
        for (var pid : listed) {
            var start = shells.contains(pid)
                    ? proc.stat(pid).map(ProcStat::startTime).orElse(null)
                    : null;
            processes.add(new LiveProcess(pid, proc.realUid(pid), start));
        }
        return processes;
    }

    /** Kernels are searched only for environments without a live pid, because the search reads every process. */
    private Kernels kernels(List<Environment> environments, Set<Integer> running) throws IOException {
        var open = environments.stream()
                .filter(environment -> environment.pids().stream().noneMatch(running::contains))
                .filter(environment -> !environment.kernelIds().isEmpty())
                .toList();
        if (open.isEmpty()) {
            return Kernels.NONE;
        }
        var wanted = open.stream()
                .flatMap(environment -> environment.kernelIds().stream())
                .map("kernel-%s.json"::formatted)
                .collect(Collectors.toSet());
        var owners =
                open.stream().map(Environment::uid).filter(Objects::nonNull).collect(Collectors.toSet());
        return new KernelSearch(proc).search(wanted, owners);
    }
}

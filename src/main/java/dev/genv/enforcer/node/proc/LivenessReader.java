package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.genv.EnvsFile;
import dev.genv.enforcer.genv.GenvJson;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.LivenessFacts;
import dev.genv.enforcer.host.LivenessFacts.Kernels;
import dev.genv.enforcer.host.LivenessFacts.LiveProcess;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.ProcStatus;
import dev.genv.enforcer.model.Environment;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Finds the processes and Jupyter kernels that {@code envs.json} lists. */
public final class LivenessReader {
    private static final LivenessFacts NOTHING_LISTED = new LivenessFacts(Reading.of(List.of()), Kernels.NONE);

    /** The number of listed pids above which they are compared with the list of all processes. */
    private static final int MANY = 1024;
    /** In bytes; the parsed content of larger files is not kept. */
    private static final int LARGEST_KEPT = 16 << 10;

    private final ProcFs proc;
    private @Nullable Parsed parsed;

    public LivenessReader(ProcFs proc) {
        this.proc = proc;
    }

    private record Parsed(Bytes content, List<Environment> environments) {}

    /**
     * Reads the facts.
     *
     * @param readings of {@code envs.json}; nothing is read for a file that cannot be parsed
     */
    public LivenessFacts read(List<StateFile> readings) {
        var environments =
                readings.stream().flatMap(envs -> environments(envs).stream()).toList();
        if (environments.isEmpty()) {
            return NOTHING_LISTED;
        }
        try {
            var processes = processes(environments);
            var running = processes.stream().map(LiveProcess::pid).collect(Collectors.toSet());
            return new LivenessFacts(Reading.of(processes), kernels(environments, running));
        } catch (IOException e) {
            return new LivenessFacts(Reading.failed(Failure.OTHER, Errno.textOf(e)), Kernels.NONE);
        }
    }

    /** A file with the same content is parsed once. */
    private List<Environment> environments(StateFile envs) {
        if (!(envs instanceof StateFile.Present(var content))) {
            parsed = null;
            return List.of();
        }
        var known = parsed;
        if (known != null && known.content.equals(content)) {
            return known.environments;
        }
        parsed = null; // its memory is free while the new file is parsed
        List<Environment> environments;
        try {
            environments = EnvsFile.of(GenvJson.read(content.array())).environments();
        } catch (UnreadableException e) {
            environments = List.of();
        }
        parsed = content.length() <= LARGEST_KEPT ? new Parsed(content, environments) : null;
        return environments;
    }

    private List<LiveProcess> processes(List<Environment> environments) throws IOException {
        var listed = environments.stream()
                .flatMap(environment -> environment.pids().stream())
                .collect(Collectors.toCollection(HashSet::new));
        environments.forEach(environment -> environment.shell().ifPresent(listed::add));
        var processes = listed.size() <= MANY ? running(listed) : List.<LiveProcess>of();
        if (!processes.isEmpty()) {
            return processes;
        }
        // Users choose how many pids they list. If none of them runs, /proc itself may be unreadable.
        listed.retainAll(Set.copyOf(proc.pids()));
        return running(listed);
    }

    private List<LiveProcess> running(Set<Integer> pids) throws IOException {
        var processes = new ArrayList<LiveProcess>();
        for (var pid : pids) {
            var status = pid > 0 ? proc.status(pid) : null;
            if (status != null && !isThread(status, pid)) {
                var uid = ProcStatus.realUid(status);
                processes.add(new LiveProcess(pid, uid == ProcStatus.NONE ? null : uid));
            }
        }
        return processes;
    }

    /** The kernel also has a directory for each thread, but does not list it. */
    private static boolean isThread(byte[] status, int pid) {
        var process = ProcStatus.processId(status);
        return process != ProcStatus.NONE && process != pid;
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

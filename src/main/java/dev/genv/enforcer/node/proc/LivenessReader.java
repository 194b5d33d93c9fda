package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.genv.EnvsFile;
import dev.genv.enforcer.genv.FileParser;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.LivenessFacts;
import dev.genv.enforcer.host.HostFacts.LivenessFacts.Kernels;
import dev.genv.enforcer.host.HostFacts.LivenessFacts.LiveProcess;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.linux.ProcStat.ProcStatus;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.node.proc.Hangable.UnansweredException;
import dev.genv.enforcer.node.proc.ProcFs.Candidate;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Finds the processes and Jupyter kernels that {@code envs.json} lists. */
public record LivenessReader(ProcFs proc, FileParser<EnvsFile> parser) {
    private static final LivenessFacts NOTHING_LISTED = new LivenessFacts(Reading.of(List.of()), Kernels.NONE);
    /** Up to this number of pids, it is faster to look each up than to list all processes. */
    private static final int MOST_LOOKED_UP = 1000;

    public LivenessReader(ProcFs proc) {
        this(proc, new FileParser<>(EnvsFile::of));
    }

    /**
     * Reads the facts.
     *
     * @param readings of {@code envs.json}; nothing is read for a file that cannot be parsed
     * @param observed the processes on the GPUs, which this observation has just read
     */
    public LivenessFacts read(List<StateFile> readings, List<ProcessFacts> observed) throws InterruptedException {
        var environments =
                readings.stream().flatMap(envs -> environments(envs).stream()).toList();
        if (environments.isEmpty()) {
            return NOTHING_LISTED;
        }
        try {
            var processes = processes(environments, observed);
            var running = processes.stream().map(LiveProcess::pid).collect(Collectors.toSet());
            return new LivenessFacts(Reading.of(processes), kernels(environments, running));
        } catch (IOException e) {
            return new LivenessFacts(Reading.failed(Failure.OTHER, Errno.textOf(e)), Kernels.NONE);
        }
    }

    private List<Environment> environments(StateFile envs) {
        try {
            return envs instanceof StateFile.Present(var content)
                    ? parser.parse(content.array()).environments()
                    : List.of();
        } catch (UnreadableException e) {
            return List.of();
        }
    }

    /** A process whose status cannot be read exists, because the kernel lists it. */
    private List<LiveProcess> processes(List<Environment> environments, List<ProcessFacts> observed)
            throws IOException {
        var listed = new HashSet<Integer>();
        for (var environment : environments) {
            listed.addAll(environment.pids());
            environment.shell().ifPresent(listed::add);
        }
        var processes = new ArrayList<LiveProcess>();
        for (var process : observed) {
            if (isOneProcess(process)
                    && process.uid() instanceof Reading.Value<Long>(var uid)
                    && listed.remove(process.pid())) {
                processes.add(new LiveProcess(process.pid(), uid));
            }
        }
        if (listed.size() > MOST_LOOKED_UP) {
            listed.retainAll(Set.copyOf(proc.pids())); // users choose how many pids they list
        }
        for (var pid : listed) {
            try {
                var status = proc.status(pid);
                // The directory of a thread is there too, although /proc does not list it.
                if (status != null && ProcStatus.isOfProcess(status)) {
                    var uid = ProcStatus.realUid(status);
                    processes.add(new LiveProcess(pid, uid == ProcStatus.NONE ? null : uid));
                }
            } catch (IOException e) {
                processes.add(new LiveProcess(pid, null));
            }
        }
        return processes;
    }

    private static boolean isOneProcess(ProcessFacts facts) {
        if (!(facts.before() instanceof Reading.Value<Bytes>(var before))
                || !(facts.after() instanceof Reading.Value<Bytes>(var after))) {
            return false;
        }
        var first = ProcStat.tryParse(before.array()).map(ProcStat::startTime);
        return before.equals(after)
                || (first.isPresent()
                        && first.equals(ProcStat.tryParse(after.array()).map(ProcStat::startTime)));
    }

    /** Kernels are searched only for environments without a live pid, because the search reads every process. */
    private Kernels kernels(List<Environment> environments, Set<Integer> running)
            throws IOException, InterruptedException {
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
        return new KernelSearch(proc, System::nanoTime, wanted).search(owners);
    }

    /**
     * Searches the arguments of all processes for the connection files of Jupyter kernels. Users choose the length of their arguments, so only
     * their beginning is searched.
     */
    static final class KernelSearch extends ProcessTurns.Search {
        /** The bytes of a process's arguments that are searched; a kernel names its file in the first few hundred. */
        static final int ARGUMENTS = 64 << 10;

        /** The time after which no further process is searched. */
        static final Duration TIME = Duration.ofSeconds(5);

        private final ProcFs proc;
        private final Set<String> wanted;
        private final Set<String> found = new HashSet<>();
        private int unsearched;
        private String example = "";

        /**
         * Creates a search.
         *
         * @param nanos as {@link System#nanoTime}
         * @param wanted the file names, such as {@code kernel-0b5eb0d4.json}
         */
        KernelSearch(ProcFs proc, LongSupplier nanos, Set<String> wanted) {
            super(proc, TIME, nanos);
            this.proc = proc;
            this.wanted = wanted;
        }

        /**
         * Searches for the files. A process that was not searched may be any kernel.
         *
         * @param owners the uids whose processes are searched first
         * @throws IOException if the list of processes cannot be read, or the thread is interrupted
         */
        Kernels search(Set<Long> owners) throws IOException, InterruptedException {
            examineAll(
                    _ -> false,
                    Comparator.comparing((Candidate candidate) ->
                                    candidate.uid() == null || !owners.contains(candidate.uid()))
                            .thenComparingLong(candidate -> candidate.id().startTime())
                            .thenComparing(Candidate::id));
            return new Kernels(
                    Set.copyOf(found),
                    unsearched > 1 ? "%s (and %d more)".formatted(example, unsearched - 1) : example);
        }

        @Override
        protected boolean isOver() {
            return found.size() == wanted.size();
        }

        /** The file name is at the end of an argument, after its last slash or equals sign. */
        @Override
        protected void examine(Candidate candidate) throws IOException {
            var bytes = proc.arguments(candidate.id(), candidate.uid(), ARGUMENTS);
            var arguments = new String(bytes, StandardCharsets.UTF_8);
            var isCut = bytes.length == ARGUMENTS;
            var whole = isCut ? arguments.substring(0, arguments.lastIndexOf('\0') + 1) : arguments;
            for (var argument : whole.split("\0", -1)) {
                var name = argument.substring(Math.max(argument.lastIndexOf('/'), argument.lastIndexOf('=')) + 1);
                if (wanted.contains(name)) {
                    found.add(name);
                }
            }
        }

        @Override
        protected void leaveOut(int pid, @Nullable Long uid, @Nullable IOException why) {
            unsearched++;
            if (example.isEmpty()) {
                var reason = why == null
                        ? "the search reached its limit"
                        : UnansweredException.isTimeout(why)
                                ? "reading its arguments hangs"
                                : "its arguments cannot be read: " + Errno.textOf(why);
                example = "process %d%s: %s".formatted(pid, uid == null ? "" : " of uid " + uid, reason);
            }
        }
    }
}

package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.HolderFacts;
import dev.genv.enforcer.host.HostFacts.HolderFacts.Holder;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.StateFacts.FileId;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.node.gpu.NvidiaDevices.Held;
import dev.genv.enforcer.node.proc.Hangable.UnansweredException;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.proc.ProcFs.Candidate;
import dev.genv.enforcer.node.proc.ProcessTurns;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Looks for processes that hold device files of GPUs. Users choose how many processes and files there are, so the time is limited, and the
 * processes of all users are examined in turn.
 *
 * @param nanos as {@link System#nanoTime}
 */
public record DeviceHolders(ProcFs proc, NvidiaDevices devices, LongSupplier nanos) {
    private static final Duration TIME = Duration.ofSeconds(1);
    /** Stands for the driver among the processes that may not answer. */
    private static final ProcessId DRIVER = new ProcessId(0, 0);
    /** So that no user's processes that do not answer keep the service from asking the driver. */
    private static final long NO_USER = -1;

    private static final int MOST_GPUS = 64;

    public DeviceHolders(ProcFs proc, NvidiaDevices devices) {
        this(proc, devices, System::nanoTime);
    }

    /**
     * What was found.
     *
     * @param gpus as in {@link HolderFacts}
     * @param held by the pid of the process
     * @param incomplete as in {@link HolderFacts}
     */
    public record Found(List<Bytes> gpus, Map<Integer, Held> held, String incomplete) {
        /** Of a machine that was not searched. */
        public static final Found NONE = new Found(List.of(), Map.of(), "");

        public List<Integer> pids() {
            return List.copyOf(held.keySet());
        }

        public HolderFacts facts(List<ProcessFacts> holders) {
            return new HolderFacts(
                    gpus,
                    holders.stream()
                            .map(holder -> {
                                var files = held.getOrDefault(holder.pid(), Held.NONE);
                                return new Holder(holder, List.copyOf(files.minors()), List.copyOf(files.mapped()));
                            })
                            .toList(),
                    incomplete);
        }
    }

    /**
     * Looks for holders.
     *
     * @param listed the pids that nvidia-smi lists, which are not examined
     */
    public Found search(Set<Integer> listed) {
        var gpus = List.<Bytes>of();
        var search = new Search();
        try {
            gpus = proc.guarded(DRIVER, NO_USER, this::gpus);
            search.majors = devices.gpuMajors();
            if (!search.majors.isEmpty()) {
                search.examineAll(listed);
            }
        } catch (IOException e) {
            search.leaveOut(UnansweredException.isTimeout(e) ? "the driver does not answer" : Errno.textOf(e));
        }
        return new Found(gpus, search.held, search.incomplete);
    }

    /** Returns what the driver says of each GPU; nothing if it is not loaded. */
    private List<Bytes> gpus() throws IOException {
        try {
            var gpus = new ArrayList<Bytes>();
            var folder = proc.machine().root().resolve("driver/nvidia/gpus");
            for (var gpu : ProcFs.entries(folder, names -> names.limit(MOST_GPUS))) {
                gpus.add(Bytes.of(ProcFs.read(folder.resolve(gpu + "/information"), HolderFacts.LARGEST_INFORMATION)));
            }
            return gpus;
        } catch (NoSuchFileException e) {
            return List.of();
        }
    }

    /** Collects what is found, and why something was not examined. */
    private final class Search extends ProcessTurns.Search {
        private final Map<Integer, Held> held = new LinkedHashMap<>();
        /** Threads that hang may still use it. */
        private final Map<FileId, Integer> known = new ConcurrentHashMap<>();

        private Set<Integer> majors = Set.of();
        private String incomplete = "";

        private Search() {
            super(proc, TIME, nanos);
        }

        /** Examines the newest processes of each user first. */
        void examineAll(Set<Integer> listed) throws IOException {
            examineAll(
                    listed::contains,
                    Comparator.comparingLong(
                                    (Candidate candidate) -> candidate.id().startTime())
                            .reversed());
        }

        @Override
        protected void examine(Candidate candidate) throws IOException {
            var pid = candidate.id().pid();
            var found = proc.guarded(candidate.id(), candidate.uid(), () -> devices.held(pid, majors, known));
            if (!found.unexamined().isEmpty()) {
                leaveOut(found.unexamined());
            }
            if (!found.minors().isEmpty() && held.size() == HolderFacts.MOST_HOLDERS) {
                leaveOut("more than %d processes hold GPUs".formatted(HolderFacts.MOST_HOLDERS));
            } else if (!found.minors().isEmpty()) {
                held.put(pid, found);
            }
        }

        @Override
        protected void leaveOut(int pid, @Nullable Long uid, @Nullable IOException why) {
            if (why == null) {
                leaveOut("the time for the search was used up");
            } else if (UnansweredException.isTimeout(why)) {
                leaveOut("a process does not answer");
            } else if (proc.exists(pid)) {
                leaveOut(NvidiaDevices.UNEXAMINED_FILES + Errno.textOf(why));
            }
        }

        private void leaveOut(String why) {
            incomplete = incomplete.isEmpty() ? why : incomplete;
        }
    }
}

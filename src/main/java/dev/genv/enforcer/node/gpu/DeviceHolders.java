package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.HolderFacts;
import dev.genv.enforcer.host.HostFacts.HolderFacts.Holder;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.FileCalls.FileStatus;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.node.gpu.DeviceHolders.HeldGpus.Held;
import dev.genv.enforcer.node.gpu.NvidiaDevices.MappedFiles;
import dev.genv.enforcer.node.gpu.NvidiaDevices.MappedFiles.FileKey;
import dev.genv.enforcer.node.proc.Hangable.ReadingOrder;
import dev.genv.enforcer.node.proc.Hangable.UnansweredException;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.proc.ProcFs.Candidate;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import java.util.regex.Pattern;
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
    private static final String LATE = "the time for the search was used up";

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

        /** Returns the pids of the holders. */
        public List<Integer> pids() {
            return List.copyOf(held.keySet());
        }

        /** Returns the facts, with those of the holders in any order. */
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
        return new Search().search(listed);
    }

    /** Collects what is found, and why something was not examined. */
    private final class Search {
        private final long start = nanos.getAsLong();
        private final Map<Integer, Held> held = new LinkedHashMap<>();
        private String incomplete = "";

        private void leaveOut(String why) {
            incomplete = incomplete.isEmpty() ? why : incomplete;
        }

        Found search(Set<Integer> listed) {
            var gpus = List.<Bytes>of();
            try {
                gpus = proc.guarded(DRIVER, NO_USER, DeviceHolders.this::gpus);
                var gpuFiles = new HeldGpus(proc, devices);
                if (!gpuFiles.isImpossible()) {
                    examineAll(candidates(listed), gpuFiles);
                }
            } catch (IOException e) {
                leaveOut(isSilent(e) ? "the driver does not answer" : HeldGpus.reason(e));
            }
            return new Found(gpus, held, incomplete);
        }

        /** Returns the processes that are examined, the newest ones first. */
        private List<Candidate> candidates(Set<Integer> listed) throws IOException {
            var candidates = new ArrayList<Candidate>();
            // The largest pids are mostly the newest, so a partial list has the newest of each user.
            for (var pid :
                    proc.pids().stream().sorted(Comparator.reverseOrder()).toList()) {
                // The other half of the time is for the files of the processes.
                if (nanos.getAsLong() - start >= TIME.toNanos() / 2) {
                    leaveOut(LATE);
                    break;
                }
                if (!listed.contains(pid)) {
                    proc.candidate(pid).ifPresent(candidates::add);
                }
            }
            candidates.sort(Comparator.comparingLong(
                            (Candidate candidate) -> candidate.id().startTime())
                    .thenComparing(Candidate::id)
                    .reversed());
            return candidates;
        }

        private void examineAll(List<Candidate> candidates, HeldGpus gpuFiles) throws InterruptedIOException {
            var left = TIME.minusNanos(nanos.getAsLong() - start);
            var order = new ReadingOrder<>(candidates, candidate -> proc.ownerOf(candidate.uid()), left, nanos);
            while (order.hasNext()) {
                var turn = order.next();
                if (!turn.inTime()) {
                    leaveOut(LATE);
                    return;
                }
                examine(turn.process(), gpuFiles);
            }
        }

        private void examine(Candidate candidate, HeldGpus gpuFiles) throws InterruptedIOException {
            var pid = candidate.id().pid();
            try {
                var found = proc.guarded(candidate.id(), candidate.uid(), () -> gpuFiles.examine(pid));
                if (!found.unexamined().isEmpty()) {
                    leaveOut(found.unexamined());
                }
                if (!found.minors().isEmpty() && held.size() == HolderFacts.MOST_HOLDERS) {
                    leaveOut("more than %d processes hold GPUs".formatted(HolderFacts.MOST_HOLDERS));
                } else if (!found.minors().isEmpty()) {
                    held.put(pid, found);
                }
            } catch (InterruptedIOException e) {
                throw e;
            } catch (IOException e) {
                if (isSilent(e)) {
                    leaveOut("a process does not answer");
                } else if (proc.exists(pid)) {
                    leaveOut("the open files of a process cannot be examined: " + HeldGpus.reason(e));
                }
            }
        }
    }

    private static boolean isSilent(IOException e) {
        return e instanceof UnansweredException unanswered && unanswered.failure() == Failure.TIMEOUT;
    }

    /** Returns what the driver says of each GPU; nothing if it is not loaded. */
    private List<Bytes> gpus() throws IOException {
        try {
            var gpus = new ArrayList<Bytes>();
            var folder = proc.machine().root().resolve("driver/nvidia/gpus");
            for (var gpu : ProcFs.entries(folder, entries -> entries.limit(MOST_GPUS))) {
                gpus.add(Bytes.of(ProcFs.read(gpu.resolve("information"), HolderFacts.LARGEST_INFORMATION)));
            }
            return gpus;
        } catch (NoSuchFileException e) {
            return List.of();
        }
    }

    /**
     * Examines which device files of single GPUs processes hold. The kernel's device number decides, never the text of a link. Another process
     * can pass a descriptor, but only the process itself can map a file.
     */
    static final class HeldGpus {
        private static final int NO_GPU = -1;
        /** asm-generic/fcntl.h. Such a descriptor names a file without opening it, also one of a user's file system that no driver serves. */
        private static final int O_PATH = 010000000;

        private static final Pattern FLAGS = Pattern.compile("(?m)^flags:\\s*([0-7]{1,11})$");
        private static final int LARGEST_FDINFO = 4096;

        private final ProcFs proc;
        private final Set<Integer> majors;
        /** The minor number of each mapped file, or {@link #NO_GPU}: processes share most of them. Threads that hang may still use it. */
        private final Map<FileKey, Integer> known = new ConcurrentHashMap<>();

        private volatile @Nullable String mappingsUnreadable;

        /** Creates it for the driver as it is loaded now. */
        HeldGpus(ProcFs proc, NvidiaDevices devices) throws IOException {
            this.proc = proc;
            majors = devices.gpuMajors();
        }

        /**
         * What a process holds.
         *
         * @param minors N of each {@code /dev/nvidiaN}
         * @param mapped those of them that it maps
         * @param unexamined what of it was not examined, as a clause; empty if all was
         */
        record Held(Set<Integer> minors, Set<Integer> mapped, String unexamined) {
            static final Held NONE = new Held(Set.of(), Set.of(), "");
        }

        /** Whether the driver is not loaded, so that no process can hold a GPU. */
        boolean isImpossible() {
            return majors.isEmpty();
        }

        /**
         * Examines the descriptors and mappings of a process. The kernel can keep it waiting for the memory of the process.
         */
        Held examine(int pid) throws IOException {
            var examination = new Examination(pid);
            examination.examine(proc.file(pid, ""));
            if (examination.files == 0) {
                // The first thread may have exited, and then it shows neither descriptors nor mappings.
                try {
                    for (var thread : proc.threads(pid)) {
                        examination.examine(thread);
                        if (examination.files > 0) {
                            break;
                        }
                    }
                } catch (NoSuchFileException e) {
                    // It has exited.
                }
            }
            return examination.result();
        }

        /** Collects what one process holds. */
        private final class Examination {
            private final int pid;
            private final Set<Integer> minors = new TreeSet<>();
            private final Set<Integer> mapped = new TreeSet<>();
            /** The device files that it has really opened. */
            private final Map<FileKey, Integer> opened = new HashMap<>();

            private int files;
            private int examinedMappings;
            private boolean isCutOff;
            private String skipped = "";

            private Examination(int pid) {
                this.pid = pid;
            }

            private void examine(Path task) throws IOException {
                try {
                    var links = ProcFs.entries(task.resolve("fd"), entries -> entries.limit(HolderFacts.MOST_FILES));
                    files += links.size();
                    isCutOff |= links.size() == HolderFacts.MOST_FILES;
                    for (var link : links) {
                        addDescriptor(task, link);
                    }
                    var maps = ProcFs.read(task.resolve("maps"), MappedFiles.LARGEST);
                    isCutOff |= maps.length == MappedFiles.LARGEST;
                    var mappings = MappedFiles.parse(maps);
                    files += mappings.size();
                    mappings.forEach(this::addMapping);
                } catch (NoSuchFileException e) {
                    // It has exited.
                }
            }

            private void addDescriptor(Path task, Path link) throws IOException {
                try {
                    var status = FileCalls.status(link);
                    var minor = gpu(status);
                    if (minor != NO_GPU) {
                        minors.add(minor);
                        var file = FileKey.of(status);
                        if (!opened.containsKey(file)
                                && isOpen(task.resolve("fdinfo").resolve(link.getFileName()))) {
                            opened.put(file, minor);
                        }
                    }
                } catch (Errno e) {
                    if (!e.is(Errno.ENOENT)) { // it was closed
                        skipped = "the open files of a process cannot be examined: " + reason(e);
                    }
                }
            }

            private void addMapping(FileKey file, String range) {
                var minor = minorOf(file, range);
                if (minor != NO_GPU) {
                    minors.add(minor);
                    mapped.add(minor);
                }
            }

            private int minorOf(FileKey file, String range) {
                var minor = opened.containsKey(file) ? opened.get(file) : known.get(file);
                if (minor != null) {
                    return minor;
                }
                if (mappingsUnreadable != null) {
                    return NO_GPU;
                }
                if (examinedMappings == HolderFacts.MOST_FILES) {
                    isCutOff = true;
                    return NO_GPU;
                }
                examinedMappings++;
                try {
                    var status = FileCalls.status(proc.file(pid, "map_files").resolve(range));
                    // The process may have mapped another file there meanwhile, which says nothing about other
                    // processes.
                    if (FileKey.of(status).equals(file)) {
                        known.put(file, gpu(status));
                    }
                    return gpu(status);
                } catch (Errno e) {
                    if (e.is(Errno.EPERM)) {
                        mappingsUnreadable = "the mappings of processes cannot be examined: " + reason(e);
                    }
                    return NO_GPU; // it may be unmapped
                }
            }

            private Held result() {
                var unreadable = mappingsUnreadable;
                var why = unreadable == null ? skipped : unreadable;
                return new Held(
                        minors,
                        mapped,
                        isCutOff
                                ? "a process has more than %d open files or mappings".formatted(HolderFacts.MOST_FILES)
                                : why);
            }
        }

        private int gpu(FileStatus status) {
            var minor = (int) status.represented();
            var isGpu = NvidiaDevices.isOneOf(majors, status) && minor >= 0 && minor < HolderFacts.FIRST_SHARED_MINOR;
            return isGpu ? minor : NO_GPU;
        }

        private static boolean isOpen(Path fdinfo) throws IOException {
            try {
                var flags = FLAGS.matcher(new String(ProcFs.read(fdinfo, LARGEST_FDINFO), StandardCharsets.US_ASCII));
                return flags.find() && (Long.parseLong(flags.group(1), 8) & O_PATH) == 0;
            } catch (NoSuchFileException e) {
                return false; // it was closed
            }
        }

        static String reason(IOException e) {
            return e instanceof FileSystemException problem && problem.getReason() != null
                    ? problem.getReason()
                    : e instanceof AccessDeniedException ? "Permission denied" : String.valueOf(e.getMessage());
        }
    }
}

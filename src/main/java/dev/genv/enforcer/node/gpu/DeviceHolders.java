package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.HolderFacts;
import dev.genv.enforcer.host.HostFacts.HolderFacts.Holder;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.StateFacts.FileId;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.FileCalls.FileStatus;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.node.gpu.NvidiaDevices.ProcessFiles;
import dev.genv.enforcer.node.proc.Hangable.ReadingOrder;
import dev.genv.enforcer.node.proc.Hangable.UnansweredException;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.proc.ProcFs.Candidate;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
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
    private static final String UNEXAMINED_FILES = "the open files of a process cannot be examined: ";
    private static final String LATE = "the time for the search was used up";

    public DeviceHolders(ProcFs proc, NvidiaDevices devices) {
        this(proc, devices, System::nanoTime);
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
        /** Threads that hang may still use it. */
        private final Map<FileId, Integer> known = new ConcurrentHashMap<>();

        private String incomplete = "";

        private void leaveOut(String why) {
            incomplete = incomplete.isEmpty() ? why : incomplete;
        }

        Found search(Set<Integer> listed) {
            var gpus = List.<Bytes>of();
            try {
                gpus = proc.guarded(DRIVER, NO_USER, DeviceHolders.this::gpus);
                var majors = devices.gpuMajors();
                if (!majors.isEmpty()) {
                    examineAll(candidates(listed), majors);
                }
            } catch (IOException e) {
                leaveOut(UnansweredException.isTimeout(e) ? "the driver does not answer" : Errno.textOf(e));
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

        private void examineAll(List<Candidate> candidates, Set<Integer> majors) throws InterruptedIOException {
            var left = TIME.minusNanos(nanos.getAsLong() - start);
            var order = new ReadingOrder<>(candidates, candidate -> proc.ownerOf(candidate.uid()), left, nanos);
            while (order.hasNext()) {
                var turn = order.next();
                if (!turn.inTime()) {
                    leaveOut(LATE);
                    return;
                }
                examine(turn.process(), majors);
            }
        }

        private void examine(Candidate candidate, Set<Integer> majors) throws InterruptedIOException {
            var pid = candidate.id().pid();
            try {
                var found = proc.guarded(
                        candidate.id(),
                        candidate.uid(),
                        () -> new Examination(new ProcessFiles(proc.file(pid, "")), majors, known).examine());
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
                if (UnansweredException.isTimeout(e)) {
                    leaveOut("a process does not answer");
                } else if (proc.exists(pid)) {
                    leaveOut(UNEXAMINED_FILES + Errno.textOf(e));
                }
            }
        }
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
     * Examines which device files of single GPUs a process holds. The kernel's device number decides, never the text of a link. Another
     * process can pass a descriptor, but only the process itself can map a file.
     */
    private static final class Examination {
        private static final int NO_GPU = -1;

        private static final Pattern FLAGS = Pattern.compile("(?m)^flags:\\s*([0-7]{1,11})$");
        private static final int LARGEST_FDINFO = 4096;

        private final ProcessFiles files;
        private final Set<Integer> majors;
        private final Map<FileId, Integer> known;
        private final Set<Integer> minors = new TreeSet<>();
        private final Set<Integer> mapped = new TreeSet<>();
        /** The device files that it has really opened. */
        private final Map<FileId, Integer> opened = new HashMap<>();

        /** @param known the minor number of each mapped file, or {@link #NO_GPU}: processes share most of them */
        private Examination(ProcessFiles files, Set<Integer> majors, Map<FileId, Integer> known) {
            this.files = files;
            this.majors = majors;
            this.known = known;
        }

        /** Examines the descriptors and mappings. The kernel can keep it waiting for the memory of the process. */
        Held examine() throws IOException {
            try {
                files.anyTask(this::examine);
            } catch (NoSuchFileException e) {
                // It has exited.
            }
            files.mapped.forEach(this::addMapping);
            return new Held(minors, mapped, unexamined());
        }

        private String unexamined() {
            if (files.hasTooMany()) {
                return "a process has more than %d open files or mappings".formatted(HolderFacts.MOST_FILES);
            }
            if (files.isMappingDenied) {
                return files.unexaminedMapped;
            }
            return files.unexaminedOpen.isEmpty() ? "" : UNEXAMINED_FILES + files.unexaminedOpen;
        }

        private boolean examine(Path task) throws IOException {
            try {
                files.examineOpen(task, (status, link) -> addDescriptor(task, status, link));
                files.readMaps(task);
            } catch (NoSuchFileException e) {
                // It has exited.
            }
            return files.hasAny();
        }

        private boolean addDescriptor(Path task, FileStatus status, Path link) throws IOException {
            var minor = gpu(status);
            if (minor != NO_GPU) {
                minors.add(minor);
                if (!opened.containsKey(NvidiaDevices.id(status))
                        && isOpen(task.resolve("fdinfo").resolve(link.getFileName()))) {
                    opened.put(NvidiaDevices.id(status), minor);
                }
            }
            return false;
        }

        private void addMapping(FileId file, String range) {
            var minor = opened.containsKey(file) ? opened.get(file) : known.get(file);
            if (minor == null) {
                minor = examineMapping(file, range);
            }
            if (minor != NO_GPU) {
                minors.add(minor);
                mapped.add(minor);
            }
        }

        private int examineMapping(FileId file, String range) {
            var status = files.mapping(range);
            if (status == null) {
                return NO_GPU;
            }
            // The process may have mapped another file there meanwhile, which says nothing about other processes.
            if (NvidiaDevices.id(status).equals(file)) {
                known.put(file, gpu(status));
            }
            return gpu(status);
        }

        private int gpu(FileStatus status) {
            var minor = (int) status.represented();
            var isGpu = NvidiaDevices.isOneOf(majors, status) && minor >= 0 && minor < HolderFacts.FIRST_SHARED_MINOR;
            return isGpu ? minor : NO_GPU;
        }

        /** A descriptor with O_PATH names a file without opening it, also one of a user's file system that no driver serves. */
        private static boolean isOpen(Path fdinfo) throws IOException {
            try {
                var flags = FLAGS.matcher(new String(ProcFs.read(fdinfo, LARGEST_FDINFO), StandardCharsets.US_ASCII));
                return flags.find() && (Long.parseLong(flags.group(1), 8) & FileCalls.O_PATH) == 0;
            } catch (NoSuchFileException e) {
                return false; // it was closed
            }
        }
    }
}

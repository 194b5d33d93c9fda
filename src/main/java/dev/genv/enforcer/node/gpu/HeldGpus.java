package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.host.HostFacts.HolderFacts;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.FileStatus;
import dev.genv.enforcer.node.gpu.NvidiaDevices.MappedFiles;
import dev.genv.enforcer.node.gpu.NvidiaDevices.MappedFiles.FileKey;
import dev.genv.enforcer.node.proc.ProcFs;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Examines which device files of single GPUs processes hold. The kernel's device number decides, never the text of a link. Another process
 * can pass a descriptor, but only the process itself can map a file.
 */
final class HeldGpus {
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
            try (var links = Files.newDirectoryStream(task.resolve("fd"))) {
                for (var link : links) {
                    if (++files >= HolderFacts.MOST_FILES) {
                        isCutOff = true;
                        break;
                    }
                    addDescriptor(task, link);
                }
            } catch (NoSuchFileException e) {
                return; // it has exited
            } catch (DirectoryIteratorException e) {
                throw e.getCause();
            }
            try {
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
                // The process may have mapped another file there meanwhile, which says nothing about other processes.
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

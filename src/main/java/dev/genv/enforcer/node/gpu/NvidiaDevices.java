package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.enforcement.host.Machine.DeviceUse;
import dev.genv.enforcer.host.HostFacts.HolderFacts;
import dev.genv.enforcer.host.StateFacts.FileId;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.FileCalls.FileStatus;
import dev.genv.enforcer.node.proc.ProcFs;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The device files of the NVIDIA driver that processes have open or map. A file is recognized by the device number that the kernel gives
 * for it, because a path can be chosen by anybody.
 *
 * @param proc {@code /proc}, or another directory in tests
 */
public record NvidiaDevices(Path proc) {
    /** Newer drivers register the second and the third name, older ones the first. All have the same number. */
    private static final Pattern MAJOR =
            Pattern.compile("(?m)^ *([0-9]{1,4}) (?:nvidia-frontend|nvidia|nvidiactl|nvidia-uvm)$");

    /** What serves {@code /dev/nvidiaN}, besides {@code /dev/nvidiactl}. */
    private static final Pattern GPU_MAJOR = Pattern.compile("(?m)^ *([0-9]{1,4}) (?:nvidia-frontend|nvidia)$");

    private static final String BLOCK_DEVICES = "Block devices:";

    /**
     * Returns whether a process has one of the files open or mapped. The kernel can keep the call waiting for the memory of the process, and
     * the server of a file system for a file.
     *
     * @throws NoSuchFileException if there is no such process
     */
    public DeviceUse use(int pid) throws IOException {
        var majors = majors(MAJOR);
        if (majors.isEmpty()) {
            return DeviceUse.PROVEN; // as on WSL
        }
        var files = new ProcessFiles(proc.resolve(Integer.toString(pid)));
        // A process can close a file that it maps.
        return hasOpen(files, majors) || hasMapped(pid, files, majors)
                ? DeviceUse.PROVEN
                : new DeviceUse(false, files.unexaminedOpen.isEmpty() ? files.unexaminedMapped : files.unexaminedOpen);
    }

    /** All threads are examined, because a thread can have open files that the others do not have. */
    private static boolean hasOpen(ProcessFiles files, Set<Integer> majors) throws IOException {
        return files.anyTask(task -> files.examineOpen(task, (status, _) -> isOneOf(majors, status)))
                && !files.hasTooManyOpen();
    }

    /**
     * Looks at the files that a process maps. It compares them with the device files of the machine and of the
     * container of the process, because the kernel permits to examine a mapping itself only with the capability SYS_ADMIN or
     * CHECKPOINT_RESTORE. A process can map a device file that is in neither folder, so then each mapping is examined.
     */
    private boolean hasMapped(int pid, ProcessFiles files, Set<Integer> majors) throws IOException {
        files.anyTask(files::readMaps);
        return Stream.of(1, pid)
                        .anyMatch(
                                each -> hasDeviceAmong(majors, files.mapped.keySet(), proc.resolve(each + "/root/dev")))
                || files.mapped.values().stream()
                        .map(files::mapping)
                        .anyMatch(status -> status != null && isOneOf(majors, status));
    }

    /** The names are not listed, because a user chooses how many files a container has. */
    private static boolean hasDeviceAmong(Set<Integer> majors, Set<FileId> files, Path folder) {
        return Stream.concat(
                        Stream.of("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"),
                        IntStream.range(0, HolderFacts.FIRST_SHARED_MINOR).mapToObj("nvidia%d"::formatted))
                .anyMatch(name -> {
                    try {
                        var status = FileCalls.status(folder.resolve(name));
                        return isOneOf(majors, status) && files.contains(id(status));
                    } catch (Errno e) {
                        return false; // what is mapped is examined
                    }
                });
    }

    static FileId id(FileStatus file) {
        return new FileId(file.device(), file.inode());
    }

    /** Whether a file is a device file with one of these major numbers. */
    static boolean isOneOf(Set<Integer> majors, FileStatus status) {
        return status.isCharacterDevice() && majors.contains((int) (status.represented() >>> Integer.SIZE));
    }

    /** Returns the major numbers of the device files of single GPUs; empty if the driver is not loaded. */
    Set<Integer> gpuMajors() throws IOException {
        return majors(GPU_MAJOR);
    }

    private Set<Integer> majors(Pattern pattern) throws IOException {
        var devices = ProcFs.text(proc.resolve("devices"));
        var block = devices.indexOf(BLOCK_DEVICES);
        return pattern.matcher(block < 0 ? devices : devices.substring(0, block))
                .results()
                .map(match -> Integer.valueOf(match.group(1)))
                .collect(Collectors.toUnmodifiableSet());
    }

    /**
     * The files of one process. Users choose their number: a process can have a million, and threads that each show them again. So at most
     * {@link HolderFacts#MOST_FILES} open files and as many mapped ones are examined.
     */
    static final class ProcessFiles {
        /** More than the kernel's usual limit of 65,530 mappings needs without long paths. */
        private static final int LARGEST_MAPS = 8 << 20;

        /**
         * {@code addresses permissions offset major:minor inode}; anonymous mappings have the inode 0. Only the kernel's numbers are used,
         * because users choose paths.
         */
        private static final Pattern MAPPING =
                Pattern.compile("(?m)^0*([0-9a-f]+)-0*([0-9a-f]+) \\S+ \\S+ ([0-9a-f]+):([0-9a-f]+) ([1-9][0-9]*)");

        /** The name of the first mapping of each file in {@code map_files}, by ascending addresses. */
        final Map<FileId, String> mapped = new LinkedHashMap<>();

        /** Why an open file was not examined, as a clause; empty if all were. */
        String unexaminedOpen = "";

        /** The same for the mapped files. */
        String unexaminedMapped = "";

        /** Whether the kernel does not permit to examine mappings. */
        boolean isMappingDenied;

        private final Path process;
        private int examinedOpen;
        private int examinedMapped;
        private boolean hasTooManyMapped;

        /** @param process its directory */
        ProcessFiles(Path process) {
            this.process = process;
        }

        /** Examines the files of a process or of one of its threads. */
        interface Task {
            /** Returns whether the search is over. */
            boolean examine(Path task) throws IOException;
        }

        /** An open file. */
        interface OpenFile {
            /**
             * Examines it, and returns whether the search is over.
             *
             * @param link in {@code fd}
             */
            boolean examine(FileStatus status, Path link) throws IOException;
        }

        /**
         * Examines the process, and then its threads until the search is over: the first thread may have exited, and then it shows no files.
         *
         * @throws NoSuchFileException if there is no such process
         */
        boolean anyTask(Task examination) throws IOException {
            if (examination.examine(process)) {
                return true;
            }
            try (var threads = Files.newDirectoryStream(process.resolve("task"))) {
                for (var thread : threads) {
                    try {
                        if (examination.examine(thread)) {
                            return true;
                        }
                    } catch (NoSuchFileException e) {
                        // This thread has exited; another one may still run.
                    }
                }
                return false;
            } catch (DirectoryIteratorException e) {
                throw e.getCause();
            }
        }

        /** Examines the open files until the search is over, also because there are too many. */
        boolean examineOpen(Path task, OpenFile file) throws IOException {
            try (var links = Files.newDirectoryStream(task.resolve("fd"))) {
                for (var link : links) {
                    if (++examinedOpen > HolderFacts.MOST_FILES) {
                        unexaminedOpen = "it has more than %d open files".formatted(HolderFacts.MOST_FILES);
                        return true;
                    }
                    try {
                        if (file.examine(FileCalls.status(link), link)) {
                            return true;
                        }
                    } catch (Errno e) { // root cannot examine every file: another user's FUSE mount refuses it
                        if (!e.is(Errno.ENOENT)) { // it was closed
                            unexaminedOpen = String.valueOf(e.getMessage());
                        }
                    }
                }
                return false;
            } catch (DirectoryIteratorException e) {
                throw e.getCause();
            }
        }

        boolean hasTooManyOpen() {
            return examinedOpen > HolderFacts.MOST_FILES;
        }

        boolean hasTooMany() {
            return hasTooManyOpen() || hasTooManyMapped;
        }

        boolean hasAny() {
            return examinedOpen > 0 || !mapped.isEmpty();
        }

        /** Reads which files are mapped, and returns whether the task shows mappings. */
        boolean readMaps(Path task) throws IOException {
            byte[] maps;
            try {
                maps = ProcFs.read(task.resolve("maps"), LARGEST_MAPS);
            } catch (NoSuchFileException e) {
                return false; // it has exited
            }
            if (maps.length == LARGEST_MAPS) {
                hasTooManyMapped = true;
                unexaminedMapped = "it has too many mappings";
            }
            var line = MAPPING.matcher(new String(maps, StandardCharsets.ISO_8859_1));
            while (line.find()) {
                var device = FileStatus.device(
                        Integer.parseUnsignedInt(line.group(3), 16), Integer.parseUnsignedInt(line.group(4), 16));
                mapped.putIfAbsent(
                        new FileId(device, Long.parseUnsignedLong(line.group(5))), line.group(1) + "-" + line.group(2));
            }
            return maps.length > 0;
        }

        /** Returns the status of a mapped file; null if it is not examined, for example because it was unmapped. */
        @Nullable
        FileStatus mapping(String range) {
            if (isMappingDenied || examinedMapped > HolderFacts.MOST_FILES) {
                return null;
            }
            if (++examinedMapped > HolderFacts.MOST_FILES) {
                hasTooManyMapped = true;
                unexaminedMapped = "it maps more than %d files".formatted(HolderFacts.MOST_FILES);
                return null;
            }
            try {
                return FileCalls.status(process.resolve("map_files").resolve(range));
            } catch (Errno e) {
                isMappingDenied = e.is(Errno.EPERM);
                if (isMappingDenied) {
                    unexaminedMapped = "the mappings of processes cannot be examined: " + e.getMessage();
                } else if (!e.is(Errno.ENOENT)) { // it was unmapped
                    unexaminedMapped = String.valueOf(e.getMessage());
                }
                return null;
            }
        }
    }
}

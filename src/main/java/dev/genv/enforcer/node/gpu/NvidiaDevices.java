package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.host.Machine.DeviceUse;
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
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The device files of the NVIDIA driver that processes have open or map. A file is recognized by the device number that the kernel gives
 * for it, because a path can be chosen by anybody. The kernel can keep the calls waiting for the memory of the process, and the server of a
 * file system for a file.
 *
 * @param proc {@code /proc}, or another directory in tests
 */
public record NvidiaDevices(Path proc) {
    /** Newer drivers register the second and the third name, older ones the first. All have the same number. */
    private static final Pattern MAJOR =
            Pattern.compile("(?m)^ *([0-9]{1,4}) (?:nvidia-frontend|nvidia|nvidiactl|nvidia-uvm)$");

    private static final String BLOCK_DEVICES = "Block devices:";
    /** The largest number of descriptors, and of mapped files, that are examined of one process. */
    private static final int MOST_FILES = 16_384;
    /** The device files from this minor number on, such as {@code /dev/nvidiactl}, belong to no single GPU. */
    private static final int FIRST_SHARED_MINOR = 254;

    /**
     * Returns whether a process has one of the files open or mapped.
     *
     * @throws NoSuchFileException if there is no such process
     */
    public DeviceUse use(int pid) throws IOException {
        var majors = majors();
        if (majors.isEmpty()) {
            return DeviceUse.PROVEN; // as on WSL
        }
        var files = new ProcessFiles(pid, majors);
        files.examine();
        return files.isProven
                ? DeviceUse.PROVEN
                : new DeviceUse(false, files.unexaminedOpen.isEmpty() ? files.unexaminedMapped : files.unexaminedOpen);
    }

    private Set<Integer> majors() throws IOException {
        var devices = ProcFs.text(proc.resolve("devices"));
        var block = devices.indexOf(BLOCK_DEVICES);
        return MAJOR.matcher(block < 0 ? devices : devices.substring(0, block))
                .results()
                .map(match -> Integer.valueOf(match.group(1)))
                .collect(Collectors.toUnmodifiableSet());
    }

    /**
     * The files of one process. Users choose their number: a process can have a million, and threads that each show them again. So at most
     * {@link #MOST_FILES} open files and as many mapped ones are examined.
     */
    private final class ProcessFiles {
        /** More than the kernel's usual limit of 65,530 mappings needs without long paths. */
        private static final int LARGEST_MAPS = 8 << 20;

        /**
         * {@code addresses permissions offset major:minor inode}; anonymous mappings have the inode 0. Only the kernel's numbers are used,
         * because users choose paths.
         */
        private static final Pattern MAPPING =
                Pattern.compile("(?m)^0*([0-9a-f]+)-0*([0-9a-f]+) \\S+ \\S+ ([0-9a-f]+):([0-9a-f]+) ([1-9][0-9]*)");

        private final int pid;
        private final Set<Integer> majors;
        /** The device files of the driver that it may map. */
        private final Set<FileId> devices = new HashSet<>();
        /** The name of the first mapping of each file in {@code map_files}, by ascending addresses. */
        private final Map<FileId, String> mapped = new LinkedHashMap<>();

        private boolean isProven;
        /** Why an open file was not examined, as a clause; empty if all were. */
        private String unexaminedOpen = "";
        /** The same for the mapped files. */
        private String unexaminedMapped = "";

        private int examinedOpen;
        private int examinedMapped;
        private boolean hasReadMaps;
        private boolean isMappingDenied;

        private ProcessFiles(int pid, Set<Integer> majors) {
            this.pid = pid;
            this.majors = majors;
        }

        /**
         * Examines the process, and then its threads: the first thread may have exited, and then it shows no files.
         *
         * @throws NoSuchFileException if there is no such process
         */
        void examine() throws IOException {
            var process = proc.resolve(Integer.toString(pid));
            if (!examine(process, true)) {
                try (var threads = Files.newDirectoryStream(process.resolve("task"))) {
                    for (var thread : threads) {
                        if (examine(thread, false)) {
                            break;
                        }
                    }
                } catch (DirectoryIteratorException e) {
                    throw e.getCause();
                }
            }
            // A process can close a file that it maps.
            if (!isProven && !mapped.isEmpty()) {
                examineMappings(process.resolve("map_files"));
            }
        }

        /**
         * Examines the process or one of its threads. Returns whether the others need not be examined: a thread can have open files that the
         * others do not have.
         */
        private boolean examine(Path task, boolean mustExist) throws IOException {
            try {
                if (!hasTooManyOpen()) {
                    examineOpen(task);
                }
            } catch (NoSuchFileException e) {
                if (mustExist) {
                    throw e;
                } // otherwise another thread may still run
            }
            if (!isProven && !hasReadMaps) {
                readMaps(task);
            }
            return isProven || (hasTooManyOpen() && hasReadMaps);
        }

        private void examineOpen(Path task) throws IOException {
            try (var links = Files.newDirectoryStream(task.resolve("fd"))) {
                for (var link : links) {
                    if (++examinedOpen > MOST_FILES) {
                        unexaminedOpen = "it has more than %d open files".formatted(MOST_FILES);
                        return;
                    }
                    examineFile(link);
                    if (isProven) {
                        return;
                    }
                }
            } catch (DirectoryIteratorException e) {
                throw e.getCause();
            }
        }

        private void examineFile(Path link) {
            try {
                isProven = isDevice(FileCalls.status(link));
            } catch (Errno e) { // root cannot examine every file: another user's FUSE mount refuses it
                if (!e.is(Errno.ENOENT)) { // it was closed
                    unexaminedOpen = String.valueOf(e.getMessage());
                }
            }
        }

        private void readMaps(Path task) throws IOException {
            byte[] maps;
            try {
                maps = ProcFs.read(task.resolve("maps"), LARGEST_MAPS);
            } catch (NoSuchFileException e) {
                return; // it has exited
            }
            hasReadMaps |= maps.length > 0;
            if (maps.length == LARGEST_MAPS) {
                unexaminedMapped = "it has too many mappings";
            }
            var line = MAPPING.matcher(new String(maps, StandardCharsets.ISO_8859_1));
            while (line.find()) {
                var device = FileStatus.device(
                        Integer.parseUnsignedInt(line.group(3), 16), Integer.parseUnsignedInt(line.group(4), 16));
                mapped.putIfAbsent(
                        new FileId(device, Long.parseUnsignedLong(line.group(5))), line.group(1) + "-" + line.group(2));
            }
        }

        /**
         * Looks at the files that it maps. They are compared with the device files of the machine and of its container, because the kernel
         * permits to examine a mapping itself only with the capability SYS_ADMIN or CHECKPOINT_RESTORE. A process can map other device files,
         * so then each mapping is examined.
         */
        private void examineMappings(Path mapFiles) {
            addUsualDevices();
            for (var file : mapped.entrySet()) {
                isProven = devices.contains(file.getKey()) || isMapped(mapFiles.resolve(file.getValue()));
                if (isProven) {
                    return;
                }
            }
        }

        /** The names are not listed, because a user chooses how many files a container has. */
        private void addUsualDevices() {
            var names = Stream.concat(
                            Stream.of("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"),
                            IntStream.range(0, FIRST_SHARED_MINOR).mapToObj("nvidia%d"::formatted))
                    .toList();
            for (var process : List.of(1, pid)) {
                var folder = proc.resolve(process + "/root/dev");
                for (var name : names) {
                    try {
                        var status = FileCalls.status(folder.resolve(name));
                        if (isDevice(status)) {
                            devices.add(new FileId(status.device(), status.inode()));
                        }
                    } catch (Errno e) {
                        // What is mapped is examined.
                    }
                }
            }
        }

        /** Whether a device is mapped there; false also if it is not examined, for example because it was unmapped. */
        private boolean isMapped(Path mapping) {
            if (isMappingDenied || examinedMapped > MOST_FILES) {
                return false;
            }
            if (++examinedMapped > MOST_FILES) {
                unexaminedMapped = "it maps more than %d files".formatted(MOST_FILES);
                return false;
            }
            try {
                return isDevice(FileCalls.status(mapping));
            } catch (Errno e) {
                isMappingDenied = e.is(Errno.EPERM);
                if (isMappingDenied) {
                    unexaminedMapped = "the mappings of processes cannot be examined: " + e.getMessage();
                } else if (!e.is(Errno.ENOENT)) { // it was unmapped
                    unexaminedMapped = String.valueOf(e.getMessage());
                }
                return false;
            }
        }

        /** Whether it is a device file of the driver. */
        private boolean isDevice(FileStatus status) {
            return status.isCharacterDevice() && majors.contains((int) (status.represented() >>> Integer.SIZE));
        }

        private boolean hasTooManyOpen() {
            return examinedOpen > MOST_FILES;
        }
    }
}

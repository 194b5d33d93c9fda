package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.enforcement.host.Machine.DeviceUse;
import dev.genv.enforcer.host.HostFacts.HolderFacts;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.FileCalls.FileStatus;
import dev.genv.enforcer.node.gpu.NvidiaDevices.MappedFiles.FileKey;
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

    /** Of all threads together. A process can have a million, and threads that each show them again. */
    private static final int MOST_FILES = HolderFacts.MOST_FILES;

    /**
     * Returns whether a process has one of the files open or mapped. The kernel can keep the call waiting for the memory of the process, and
     * the server of a file system for a file.
     *
     * @throws NoSuchFileException if there is no such process
     */
    public DeviceUse use(int pid) throws IOException {
        var majors = majors(MAJOR);
        var open = majors.isEmpty() ? DeviceUse.PROVEN : open(pid, majors); // as on WSL
        if (open.isProven()) {
            return open;
        }
        var mapped = mapped(pid, majors); // a process can close a file that it maps
        return mapped.isProven() || open.unexamined().isEmpty() ? mapped : open;
    }

    /** Looks at the files that a process has open. The first thread may have exited, and then it shows none. */
    private DeviceUse open(int pid, Set<Integer> majors) throws IOException {
        var search = new Search(majors);
        var process = proc.resolve(Integer.toString(pid));
        search.collect(process.resolve("fd"));
        if (!search.isOver()) {
            try (var threads = Files.newDirectoryStream(process.resolve("task"))) {
                for (var thread : threads) {
                    try {
                        search.collect(thread.resolve("fd"));
                    } catch (NoSuchFileException e) {
                        // This thread has exited; another one may still run.
                    }
                }
            } catch (DirectoryIteratorException e) {
                throw e.getCause();
            }
        }
        return search.isProven ? DeviceUse.PROVEN : new DeviceUse(false, search.unexamined);
    }

    /** The search of the files of one process. */
    private static final class Search {
        private final Set<Integer> majors;
        private boolean isProven;
        private int examined;
        private String unexamined = "";

        private Search(Set<Integer> majors) {
            this.majors = majors;
        }

        private boolean isOver() {
            return isProven || examined > MOST_FILES;
        }

        private void collect(Path folder) throws IOException {
            try (var links = Files.newDirectoryStream(folder)) {
                var link = links.iterator();
                while (!isOver() && link.hasNext()) {
                    if (++examined > MOST_FILES) {
                        unexamined = "it has more than %d open files".formatted(MOST_FILES);
                        return;
                    }
                    try {
                        isProven = isOneOf(majors, FileCalls.status(link.next()));
                    } catch (Errno e) { // root cannot examine every file: another user's FUSE mount refuses it
                        unexamined = e.is(Errno.ENOENT) ? unexamined : String.valueOf(e.getMessage()); // it was closed
                    }
                }
            } catch (DirectoryIteratorException e) {
                throw e.getCause();
            }
        }
    }

    /**
     * Looks at the files that a process maps. It compares them with the device files of the machine and of the
     * container of the process, because the kernel permits to examine a mapping itself only with the capability SYS_ADMIN or
     * CHECKPOINT_RESTORE. A process can map a device file that is in neither folder, so then each mapping is examined.
     */
    private DeviceUse mapped(int pid, Set<Integer> majors) throws IOException {
        var maps = maps(pid);
        var files = MappedFiles.parse(maps);
        if (Stream.of(1, pid)
                .anyMatch(each -> hasDeviceAmong(majors, files.keySet(), proc.resolve(each + "/root/dev")))) {
            return DeviceUse.PROVEN;
        }
        var unexamined = maps.length == MappedFiles.LARGEST ? "it has too many mappings" : "";
        var examined = 0;
        for (var range : files.values()) {
            if (++examined > HolderFacts.MOST_FILES) {
                return new DeviceUse(false, "it maps more than %d files".formatted(HolderFacts.MOST_FILES));
            }
            try {
                if (isOneOf(
                        majors,
                        FileCalls.status(proc.resolve(pid + "/map_files").resolve(range)))) {
                    return DeviceUse.PROVEN;
                }
            } catch (Errno e) {
                if (e.is(Errno.EPERM)) {
                    return new DeviceUse(false, "the mappings of processes cannot be examined: " + e.getMessage());
                }
                if (!e.is(Errno.ENOENT)) { // it was unmapped
                    unexamined = String.valueOf(e.getMessage());
                }
            }
        }
        return new DeviceUse(false, unexamined);
    }

    /** The first thread may have exited, and then it shows no mappings. */
    private byte[] maps(int pid) throws IOException {
        var maps = mapsOf(proc.resolve(Integer.toString(pid)));
        if (maps.length > 0) {
            return maps;
        }
        try (var threads = Files.newDirectoryStream(proc.resolve(pid + "/task"))) {
            for (var thread : threads) {
                maps = mapsOf(thread);
                if (maps.length > 0) {
                    break;
                }
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return maps;
    }

    private static byte[] mapsOf(Path task) throws IOException {
        try {
            return ProcFs.read(task.resolve("maps"), MappedFiles.LARGEST);
        } catch (NoSuchFileException e) {
            return new byte[0]; // it has exited
        }
    }

    /** The names are not listed, because a user chooses how many files a container has. */
    private static boolean hasDeviceAmong(Set<Integer> majors, Set<FileKey> files, Path folder) {
        return Stream.concat(
                        Stream.of("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"),
                        IntStream.range(0, HolderFacts.FIRST_SHARED_MINOR).mapToObj("nvidia%d"::formatted))
                .anyMatch(name -> {
                    try {
                        var status = FileCalls.status(folder.resolve(name));
                        return isOneOf(majors, status) && files.contains(FileKey.of(status));
                    } catch (Errno e) {
                        return false; // what is mapped is examined
                    }
                });
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

    /** The files that a process maps, from its {@code maps}. Only the kernel's numbers are taken from it, because users choose paths. */
    static final class MappedFiles {
        /** More than the kernel's usual limit of 65,530 mappings needs without long paths. */
        static final int LARGEST = 8 << 20;

        /** {@code addresses permissions offset major:minor inode}; anonymous mappings have the inode 0. */
        private static final Pattern LINE =
                Pattern.compile("(?m)^0*([0-9a-f]+)-0*([0-9a-f]+) \\S+ \\S+ ([0-9a-f]+):([0-9a-f]+) ([1-9][0-9]*)");

        private MappedFiles() {}

        /**
         * A file.
         *
         * @param device of its file system, as in {@link FileStatus}
         */
        record FileKey(long device, long inode) {
            static FileKey of(FileStatus status) {
                return new FileKey(status.device(), status.inode());
            }
        }

        /** Returns for each file, by ascending addresses, the name of its first mapping in {@code map_files}. */
        static Map<FileKey, String> parse(byte[] maps) {
            var files = new LinkedHashMap<FileKey, String>();
            var line = LINE.matcher(new String(maps, StandardCharsets.ISO_8859_1));
            while (line.find()) {
                var device = FileStatus.device(
                        Integer.parseUnsignedInt(line.group(3), 16), Integer.parseUnsignedInt(line.group(4), 16));
                files.putIfAbsent(
                        new FileKey(device, Long.parseUnsignedLong(line.group(5))),
                        line.group(1) + "-" + line.group(2));
            }
            return files;
        }
    }
}

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
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
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

    /** What serves {@code /dev/nvidiaN}, besides {@code /dev/nvidiactl}. */
    private static final Pattern GPU_MAJOR = Pattern.compile("(?m)^ *([0-9]{1,4}) (?:nvidia-frontend|nvidia)$");

    private static final String BLOCK_DEVICES = "Block devices:";
    static final String UNEXAMINED_FILES = "the open files of a process cannot be examined: ";

    /**
     * The GPUs that a process holds. Another process can pass a descriptor, but only the process itself can map a file.
     *
     * @param minors N of each {@code /dev/nvidiaN}
     * @param mapped those of them that it maps
     * @param unexamined what of it was not examined, as a clause; empty if all was
     */
    record Held(Set<Integer> minors, Set<Integer> mapped, String unexamined) {
        static final Held NONE = new Held(Set.of(), Set.of(), "");
    }

    /**
     * Returns whether a process has one of the files open or mapped.
     *
     * @throws NoSuchFileException if there is no such process
     */
    public DeviceUse use(int pid) throws IOException {
        var majors = majors(MAJOR);
        if (majors.isEmpty()) {
            return DeviceUse.PROVEN; // as on WSL
        }
        var files = new ProcessFiles(pid, majors, false, new HashMap<>());
        files.examine();
        return files.isProven()
                ? DeviceUse.PROVEN
                : new DeviceUse(false, files.unexaminedOpen.isEmpty() ? files.unexaminedMapped : files.unexaminedOpen);
    }

    /**
     * Returns which GPUs a process holds; none if there is no such process.
     *
     * @param gpuMajors as of {@link #gpuMajors}
     * @param known the minor number of each mapped file that was examined, or that it is none: processes share most of them
     */
    Held held(int pid, Set<Integer> gpuMajors, Map<FileId, Integer> known) throws IOException {
        var files = new ProcessFiles(pid, gpuMajors, true, known);
        try {
            files.examine();
        } catch (NoSuchFileException e) {
            // It has exited.
        }
        return new Held(files.minors, files.mappedMinors, files.unexaminedOfSearch());
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

    private static FileId id(FileStatus file) {
        return new FileId(file.device(), file.inode());
    }

    /**
     * The files of one process. Users choose their number: a process can have a million, and threads that each show them again. So at most
     * {@link HolderFacts#MOST_FILES} open files and as many mapped ones are examined.
     */
    private final class ProcessFiles {
        private static final int NO_DEVICE = -1;
        /** More than the kernel's usual limit of 65,530 mappings needs without long paths. */
        private static final int LARGEST_MAPS = 8 << 20;

        /**
         * {@code addresses permissions offset major:minor inode}; anonymous mappings have the inode 0. Only the kernel's numbers are used,
         * because users choose paths.
         */
        private static final Pattern MAPPING =
                Pattern.compile("(?m)^0*([0-9a-f]+)-0*([0-9a-f]+) \\S+ \\S+ ([0-9a-f]+):([0-9a-f]+) ([1-9][0-9]*)");

        private static final Pattern FLAGS = Pattern.compile("(?m)^flags:\\s*([0-7]{1,11})$");
        private static final int LARGEST_FDINFO = 4096;

        private final int pid;
        private final Set<Integer> majors;
        /** Whether all GPUs are looked for; otherwise any device file. */
        private final boolean isSearch;

        private final Map<FileId, Integer> known;
        /** The minor numbers of device files that it may map. */
        private final Map<FileId, Integer> devices = new HashMap<>();
        /** The name of the first mapping of each file in {@code map_files}, by ascending addresses. */
        private final Map<FileId, String> mapped = new LinkedHashMap<>();

        private final Set<Integer> minors = new TreeSet<>();
        private final Set<Integer> mappedMinors = new TreeSet<>();
        /** Why an open file was not examined, as a clause; empty if all were. */
        private String unexaminedOpen = "";
        /** The same for the mapped files. */
        private String unexaminedMapped = "";

        private int examinedOpen;
        private int examinedMapped;
        private boolean hasReadMaps;
        private boolean hasTooManyMapped;
        private boolean isMappingDenied;

        private ProcessFiles(int pid, Set<Integer> majors, boolean isSearch, Map<FileId, Integer> known) {
            this.pid = pid;
            this.majors = majors;
            this.isSearch = isSearch;
            this.known = known;
        }

        /**
         * Examines the process, and then its threads: the first thread may have exited, and then it shows no files.
         *
         * @throws NoSuchFileException if there is no such process
         */
        void examine() throws IOException {
            var process = proc.resolve(Integer.toString(pid));
            if (!examine(process, !isSearch)) {
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
            if (!isProven() && !mapped.isEmpty()) {
                examineMappings(process.resolve("map_files"));
            }
        }

        /**
         * Examines the process or one of its threads. Returns whether the others need not be examined: unless it is a search, a thread can have
         * open files that the others do not have.
         */
        private boolean examine(Path task, boolean mustExist) throws IOException {
            var hasExited = false;
            try {
                if (!hasTooManyOpen()) {
                    examineOpen(task);
                }
            } catch (NoSuchFileException e) {
                if (mustExist) {
                    throw e;
                }
                hasExited = true; // another thread may still run
            }
            if (isSearch ? !hasExited : !isProven() && !hasReadMaps) {
                readMaps(task);
            }
            return isProven() || (isSearch ? examinedOpen > 0 || !mapped.isEmpty() : hasTooManyOpen() && hasReadMaps);
        }

        /** Whether the search for any device file is over. */
        boolean isProven() {
            return !isSearch && !minors.isEmpty();
        }

        private void examineOpen(Path task) throws IOException {
            try (var links = Files.newDirectoryStream(task.resolve("fd"))) {
                for (var link : links) {
                    if (++examinedOpen > HolderFacts.MOST_FILES) {
                        unexaminedOpen = "it has more than %d open files".formatted(HolderFacts.MOST_FILES);
                        return;
                    }
                    examineOpen(task, link);
                    if (isProven()) {
                        return;
                    }
                }
            } catch (DirectoryIteratorException e) {
                throw e.getCause();
            }
        }

        private void examineOpen(Path task, Path link) throws IOException {
            try {
                var status = FileCalls.status(link);
                var minor = minor(status);
                if (minor != NO_DEVICE) {
                    minors.add(minor);
                    if (isSearch
                            && !devices.containsKey(id(status))
                            && isOpen(task.resolve("fdinfo").resolve(link.getFileName()))) {
                        devices.put(id(status), minor);
                    }
                }
            } catch (Errno e) { // root cannot examine every file: another user's FUSE mount refuses it
                if (!e.is(Errno.ENOENT)) { // it was closed
                    unexaminedOpen = String.valueOf(e.getMessage());
                }
            }
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

        private void readMaps(Path task) throws IOException {
            byte[] maps;
            try {
                maps = ProcFs.read(task.resolve("maps"), LARGEST_MAPS);
            } catch (NoSuchFileException e) {
                return; // it has exited
            }
            hasReadMaps |= maps.length > 0;
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
        }

        /**
         * Looks at the files that it maps. They are compared with files that it has open or, unless it is a search, with the device files of the
         * machine and of its container, because the kernel permits to examine a mapping itself only with the capability SYS_ADMIN or
         * CHECKPOINT_RESTORE. A process can map other device files, so then each mapping is examined.
         */
        private void examineMappings(Path mapFiles) {
            if (!isSearch) {
                addUsualDevices();
            }
            for (var file : mapped.entrySet()) {
                var minor = devices.getOrDefault(file.getKey(), known.get(file.getKey()));
                if (minor == null) {
                    minor = examineMapping(file.getKey(), mapFiles.resolve(file.getValue()));
                }
                if (minor != NO_DEVICE) {
                    minors.add(minor);
                    mappedMinors.add(minor);
                    if (isProven()) {
                        return;
                    }
                }
            }
        }

        /** The names are not listed, because a user chooses how many files a container has. */
        private void addUsualDevices() {
            var names = Stream.concat(
                            Stream.of("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"),
                            IntStream.range(0, HolderFacts.FIRST_SHARED_MINOR).mapToObj("nvidia%d"::formatted))
                    .toList();
            for (var process : List.of(1, pid)) {
                var folder = proc.resolve(process + "/root/dev");
                for (var name : names) {
                    try {
                        var status = FileCalls.status(folder.resolve(name));
                        if (minor(status) != NO_DEVICE) {
                            devices.put(id(status), minor(status));
                        }
                    } catch (Errno e) {
                        // What is mapped is examined.
                    }
                }
            }
        }

        /** Returns the minor number of a mapped device; {@link #NO_DEVICE} also if it is not examined, for example because it was unmapped. */
        private int examineMapping(FileId file, Path mapping) {
            if (isMappingDenied || examinedMapped > HolderFacts.MOST_FILES) {
                return NO_DEVICE;
            }
            if (++examinedMapped > HolderFacts.MOST_FILES) {
                hasTooManyMapped = true;
                unexaminedMapped = "it maps more than %d files".formatted(HolderFacts.MOST_FILES);
                return NO_DEVICE;
            }
            try {
                var status = FileCalls.status(mapping);
                // The process may have mapped another file there meanwhile, which says nothing about other processes.
                if (id(status).equals(file)) {
                    known.put(file, minor(status));
                }
                return minor(status);
            } catch (Errno e) {
                isMappingDenied = e.is(Errno.EPERM);
                if (isMappingDenied) {
                    unexaminedMapped = "the mappings of processes cannot be examined: " + e.getMessage();
                } else if (!e.is(Errno.ENOENT)) { // it was unmapped
                    unexaminedMapped = String.valueOf(e.getMessage());
                }
                return NO_DEVICE;
            }
        }

        /** Returns the minor number of a device file of the driver; {@link #NO_DEVICE} for another file. */
        private int minor(FileStatus status) {
            var minor = (int) status.represented();
            var isDevice = status.isCharacterDevice()
                    && majors.contains((int) (status.represented() >>> Integer.SIZE))
                    && minor >= 0
                    && (!isSearch || minor < HolderFacts.FIRST_SHARED_MINOR);
            return isDevice ? minor : NO_DEVICE;
        }

        private boolean hasTooManyOpen() {
            return examinedOpen > HolderFacts.MOST_FILES;
        }

        String unexaminedOfSearch() {
            if (hasTooManyOpen() || hasTooManyMapped) {
                return "a process has more than %d open files or mappings".formatted(HolderFacts.MOST_FILES);
            }
            if (isMappingDenied) {
                return unexaminedMapped;
            }
            return unexaminedOpen.isEmpty() ? "" : UNEXAMINED_FILES + unexaminedOpen;
        }
    }
}

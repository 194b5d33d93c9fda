package dev.genv.enforcer.node.device;

import dev.genv.enforcer.files.Errno;
import dev.genv.enforcer.files.FileCalls;
import dev.genv.enforcer.files.FileStatus;
import dev.genv.enforcer.node.proc.ProcFs;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The device files of the NVIDIA driver that processes have open. A file is recognized by the device number that the kernel gives
 * for it, because a path can be chosen by anybody.
 */
public final class NvidiaDevices {
    /** Newer drivers register the second and the third name, older ones the first. All have the same number. */
    private static final Pattern MAJOR =
            Pattern.compile("(?m)^ *([0-9]{1,4}) (?:nvidia-frontend|nvidia|nvidiactl|nvidia-uvm)$");

    /** What serves {@code /dev/nvidiaN}, besides {@code /dev/nvidiactl}. */
    private static final Pattern GPU_MAJOR = Pattern.compile("(?m)^ *([0-9]{1,4}) (?:nvidia-frontend|nvidia)$");

    private static final String BLOCK_DEVICES = "Block devices:";

    /** Of all threads together. A process can have a million, and threads that each show them again. */
    private static final int MOST_FILES = 1 << 16;

    private final Path proc;

    /** @param proc {@code /proc}, or another directory in tests */
    public NvidiaDevices(Path proc) {
        this.proc = proc;
    }

    /**
     * A device file.
     *
     * @param major the driver's number
     * @param minor of {@code /dev/nvidiaN} the number N
     */
    public record DeviceNumber(int major, int minor) implements Comparable<DeviceNumber> {
        @Override
        public int compareTo(DeviceNumber other) {
            return Long.compareUnsigned(number(), other.number());
        }

        private long number() {
            return FileStatus.device(major, minor);
        }

        private static DeviceNumber of(long number) {
            return new DeviceNumber((int) (number >>> Integer.SIZE), (int) number);
        }
    }

    /**
     * Whether the driver has device files, so that every process that uses a GPU has one of them. On WSL it has none.
     *
     * @throws IOException if that is unknown
     */
    public boolean areUsed() throws IOException {
        return !majors().isEmpty();
    }

    /**
     * Whether a process has one of the files open.
     *
     * @throws NoSuchFileException if there is no such process
     * @throws IOException if its files cannot be examined
     */
    public boolean hasOpen(int pid) throws IOException {
        return !open(pid, 1).isEmpty();
    }

    /**
     * Returns the files that a process has open.
     *
     * @throws NoSuchFileException if there is no such process
     * @throws IOException if its files cannot be examined
     */
    public Set<DeviceNumber> open(int pid) throws IOException {
        return open(pid, Integer.MAX_VALUE);
    }

    /** The first thread may have exited, and then it shows no files. */
    private Set<DeviceNumber> open(int pid, int limit) throws IOException {
        var search = new Search(majors(), limit);
        var process = proc.resolve(Integer.toString(pid));
        search.collect(process.resolve("fd"));
        if (search.found.isEmpty()) {
            try (var threads = Files.newDirectoryStream(process.resolve("task"))) {
                for (var thread : threads) {
                    search.collectOfThread(thread);
                }
            } catch (DirectoryIteratorException e) {
                throw e.getCause();
            }
        }
        return search.found;
    }

    /** The search of the files of one process. */
    private static final class Search {
        private final Set<Integer> majors;
        private final int limit;
        private final Set<DeviceNumber> found = new TreeSet<>();
        private int examined;

        private Search(Set<Integer> majors, int limit) {
            this.majors = majors;
            this.limit = limit;
        }

        private void collectOfThread(Path thread) throws IOException {
            try {
                collect(thread.resolve("fd"));
            } catch (NoSuchFileException e) {
                // This thread has exited; another one may still run.
            }
        }

        private void collect(Path folder) throws IOException {
            try (var links = Files.newDirectoryStream(folder)) {
                var link = links.iterator();
                while (found.size() < limit && link.hasNext()) {
                    if (++examined > MOST_FILES) {
                        throw new IOException("it has more than %d open files".formatted(MOST_FILES));
                    }
                    var number = number(link.next());
                    if (majors.contains(number.major())) {
                        found.add(number);
                    }
                }
            } catch (DirectoryIteratorException e) {
                throw e.getCause();
            }
        }
    }

    /** Returns what a link of a process leads to; zero if that is no device, or was closed. */
    static DeviceNumber number(Path link) throws IOException {
        try {
            var status = FileCalls.status(link);
            return DeviceNumber.of(status.isCharacterDevice() ? status.represented() : 0);
        } catch (Errno e) {
            if (e.is(Errno.ENOENT)) {
                return DeviceNumber.of(0); // it was closed
            }
            throw e;
        }
    }

    private Set<Integer> majors() throws IOException {
        return majors(MAJOR);
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
}

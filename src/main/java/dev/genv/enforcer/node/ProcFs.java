package dev.genv.enforcer.node;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The files of {@code /proc}, under any root. */
final class ProcFs {
    /** More than the kernel lets a process start with. */
    static final int LARGEST_ENVIRON = 8 << 20;

    /** PROC_PID_INIT_INO of linux/proc_ns.h: the inode of the first PID namespace, fixed in the kernel. */
    private static final String FIRST_PID_NAMESPACE = "pid:[4026531836]";

    private static final int LARGEST_OTHER = 1 << 20;
    private static final Pattern NUMBER = Pattern.compile("[1-9][0-9]{0,8}");
    private static final Pattern DRIVER = Pattern.compile("NVRM version:.*?\\s([0-9]+(?:\\.[0-9]+)+)\\s");
    private final Path root;

    ProcFs(Path root) {
        this.root = root;
    }

    boolean exists(int pid) {
        return pid > 0 && Files.exists(file(pid, "stat"));
    }

    /** Nothing where there is no such process. */
    Optional<ProcStat> stat(int pid) throws IOException {
        try {
            return Optional.of(
                    ProcStat.parse(new String(read(file(pid, "stat"), LARGEST_OTHER), StandardCharsets.UTF_8)));
        } catch (IOException e) {
            if (isGone(pid, e)) {
                return Optional.empty();
            }
            throw e;
        }
    }

    /** The real uid, or null where {@code status} does not tell. */
    @Nullable
    Long realUid(int pid) throws IOException {
        var status = new String(read(file(pid, "status"), LARGEST_OTHER), StandardCharsets.UTF_8);
        return status.lines()
                .filter(line -> line.startsWith("Uid:"))
                .map(line -> line.split("\\s+", -1)[1])
                .map(Long::valueOf)
                .findFirst()
                .orElse(null);
    }

    byte[] environ(int pid) throws IOException {
        return read(file(pid, "environ"), LARGEST_ENVIRON);
    }

    /** The environment, as one of the threads that still run sees it. */
    byte[] environOfAThread(int pid) throws IOException {
        IOException last = new NoSuchFileException("no thread of process " + pid + " runs");
        for (var thread : numbers(file(pid, "task"))) {
            var folder = file(pid, "task").resolve(thread.toString());
            try {
                var stat =
                        ProcStat.parse(new String(read(folder.resolve("stat"), LARGEST_OTHER), StandardCharsets.UTF_8));
                if (!stat.hasEnded() && stat.environmentEnd() != 0) {
                    return read(folder.resolve("environ"), LARGEST_ENVIRON);
                }
            } catch (IOException e) {
                last = e; // this one has ended; the next one may not have
            }
        }
        throw last;
    }

    /**
     * The arguments; none where there is no such process, or where they may not be read.
     *
     * @throws IOException where they could not be read for another reason, such as too many open files: that must not
     *     look as if nobody was there
     */
    List<String> arguments(int pid) throws IOException {
        try {
            var line = new String(read(file(pid, "cmdline"), LARGEST_OTHER), StandardCharsets.UTF_8);
            return Arrays.asList(line.split("\0", -1));
        } catch (AccessDeniedException e) {
            return List.of();
        } catch (IOException e) {
            if (isGone(pid, e)) {
                return List.of();
            }
            throw e;
        }
    }

    List<Integer> pids() throws IOException {
        return numbers(root);
    }

    private static List<Integer> numbers(Path directory) throws IOException {
        var numbers = new ArrayList<Integer>();
        try (var entries = Files.newDirectoryStream(directory)) {
            for (var entry : entries) {
                var name = String.valueOf(entry.getFileName());
                if (NUMBER.matcher(name).matches()) {
                    numbers.add(Integer.valueOf(name));
                }
            }
        }
        return numbers;
    }

    /** The version of the NVIDIA driver, where its kernel module is loaded. */
    @Nullable
    String driverVersion() {
        try {
            var version = root.resolve("driver/nvidia/version");
            var match = DRIVER.matcher(new String(read(version, LARGEST_OTHER), StandardCharsets.UTF_8));
            return match.find() ? match.group(1) : null;
        } catch (IOException e) {
            return null;
        }
    }

    /** Whether pids mean here what they mean to the kernel and its drivers. */
    boolean isFirstPidNamespace() {
        try {
            return Files.readSymbolicLink(root.resolve("self/ns/pid"))
                    .toString()
                    .equals(FIRST_PID_NAMESPACE);
        } catch (IOException e) {
            return false;
        }
    }

    private boolean isGone(int pid, IOException why) {
        // A process that ends while it is read gives ESRCH, which Java has no exception of its own for.
        return why instanceof NoSuchFileException || !exists(pid);
    }

    private Path file(int pid, String name) {
        return root.resolve(Integer.toString(pid)).resolve(name);
    }

    private static byte[] read(Path file, int limit) throws IOException {
        try (var stream = Files.newInputStream(file)) {
            return stream.readNBytes(limit);
        }
    }
}

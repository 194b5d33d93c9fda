package dev.genv.enforcer.node;

import dev.genv.enforcer.format.ProcStat;
import dev.genv.enforcer.model.ProcessId;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The processes in {@code /proc}, under any root. */
final class ProcFs {
    /** More than the kernel lets a process start with. */
    static final int LARGEST_ENVIRON = 8 << 20;

    private static final int LARGEST_OTHER = 1 << 20;

    private static final Pattern NUMBER = Pattern.compile("[1-9][0-9]{0,8}");
    private static final Pattern UID = Pattern.compile("^Uid:\\s+([0-9]{1,10})\\s", Pattern.MULTILINE);

    private final Path root;
    private final MemoryReader memory = new MemoryReader(MemoryReader.Patience.USUAL);

    ProcFs(Path root) {
        this.root = root;
    }

    /** What stands there of the machine itself. */
    MachineFiles machine() {
        return new MachineFiles(root);
    }

    /** From now on there is as much time for processes that do not answer as for a whole look. */
    void startLook() {
        memory.startLook();
    }

    boolean exists(int pid) {
        return pid > 0 && Files.exists(file(pid, "stat"));
    }

    /** Nothing where there is no such process. */
    Optional<ProcStat> stat(int pid) throws IOException {
        try {
            return Optional.of(ProcStat.parse(text(file(pid, "stat"))));
        } catch (IOException e) {
            if (isGone(pid, e)) {
                return Optional.empty();
            }
            throw e;
        }
    }

    /** The real uid, or null where there is no such process, or where {@code status} does not tell. */
    @Nullable
    Long realUid(int pid) throws IOException {
        try {
            var match = UID.matcher(text(file(pid, "status")));
            return match.find() ? Long.valueOf(match.group(1)) : null;
        } catch (IOException e) {
            if (isGone(pid, e)) {
                return null;
            }
            throw e;
        }
    }

    /**
     * The program that a process runs.
     *
     * @param link leads to the very file, whatever has become of its name
     * @param target its name where it lies; null where that cannot be told, such as one that is longer than the kernel
     *     tells
     */
    record Program(Path link, @Nullable Path target) {}

    /** The program of a process; another thread is asked where the first one has ended. */
    Program program(int pid) throws IOException {
        try {
            return program(file(pid, "exe"));
        } catch (IOException e) {
            for (var thread : numbers(file(pid, "task"))) {
                try {
                    return program(file(pid, "task").resolve(thread.toString()).resolve("exe"));
                } catch (NoSuchFileException ended) {
                    // The next one may not have.
                }
            }
            throw e;
        }
    }

    private static Program program(Path link) throws IOException {
        try {
            return new Program(link, Files.readSymbolicLink(link));
        } catch (NoSuchFileException e) {
            throw e;
        } catch (IOException e) {
            return new Program(link, null);
        }
    }

    /**
     * The environment.
     *
     * @param uid the real uid of the process
     * @throws NoAnswerException where the process keeps the kernel from reading it
     */
    byte[] environ(ProcessId process, long uid) throws IOException {
        return environ(process, uid, file(process.pid(), "environ"));
    }

    /** The same, as one of the threads that still run sees it. */
    byte[] environOfAThread(ProcessId process, long uid) throws IOException {
        var tasks = file(process.pid(), "task");
        IOException last = new NoSuchFileException("no thread of process " + process.pid() + " runs");
        for (var thread : numbers(tasks)) {
            var folder = tasks.resolve(thread.toString());
            try {
                var stat = ProcStat.parse(text(folder.resolve("stat")));
                if (!stat.hasEnded() && stat.environmentEnd() != 0) {
                    return environ(process, uid, folder.resolve("environ"));
                }
            } catch (NoAnswerException e) {
                throw e; // they all have the same memory
            } catch (IOException e) {
                last = e; // this one has ended; the next one may not have
            }
        }
        throw last;
    }

    private byte[] environ(ProcessId process, long uid, Path file) throws IOException {
        return memory.read(process, uid, () -> read(file, LARGEST_ENVIRON));
    }

    /**
     * The beginning of the arguments, each ended by a NUL; empty where there is no such process.
     *
     * @param uid the real uid of the process
     * @param limit in bytes
     * @throws NoAnswerException where the process keeps the kernel from reading them
     */
    byte[] arguments(ProcessId process, long uid, int limit) throws IOException {
        try {
            return memory.read(process, uid, () -> read(file(process.pid(), "cmdline"), limit));
        } catch (NoAnswerException e) {
            throw e;
        } catch (IOException e) {
            if (isGone(process.pid(), e)) {
                return new byte[0];
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

    private boolean isGone(int pid, IOException why) {
        // A process that ends while it is read gives ESRCH, which Java has no exception of its own for.
        return why instanceof NoSuchFileException || !exists(pid);
    }

    private Path file(int pid, String name) {
        return root.resolve(Integer.toString(pid)).resolve(name);
    }

    static String text(Path file) throws IOException {
        return new String(read(file, LARGEST_OTHER), StandardCharsets.UTF_8);
    }

    static byte[] read(Path file, int limit) throws IOException {
        try (var stream = Files.newInputStream(file)) {
            return stream.readNBytes(limit);
        }
    }
}

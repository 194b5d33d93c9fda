package dev.genv.enforcer.node;

import dev.genv.enforcer.format.ProcStat;
import dev.genv.enforcer.model.ProcessId;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The files of {@code /proc}, under any root. */
final class ProcFs {
    /** More than the kernel lets a process start with. */
    static final int LARGEST_ENVIRON = 8 << 20;

    /** PROC_PID_INIT_INO of linux/proc_ns.h: the inode of the first PID namespace, fixed in the kernel. */
    private static final String FIRST_PID_NAMESPACE = "pid:[4026531836]";

    private static final Long ROOT = 0L;
    private static final int LARGEST_OTHER = 1 << 20;
    /** Of what users can make longer: they choose how many locks they hold. */
    private static final int LARGEST_LIST = 16 << 20;

    private static final Pattern NUMBER = Pattern.compile("[1-9][0-9]{0,8}");
    private static final Pattern DRIVER = Pattern.compile("NVRM version:.*?\\s([0-9]+(?:\\.[0-9]+)+)\\s");
    private static final Pattern UID = Pattern.compile("^Uid:\\s+([0-9]{1,10})\\s", Pattern.MULTILINE);
    private static final Pattern CAPABILITIES = Pattern.compile("^CapEff:\\s+([0-9a-f]{1,16})$", Pattern.MULTILINE);
    private static final FileTree OWN_FILES = new FileTree(Path.of("/"));
    private final Path root;
    private final MemoryReader memory = new MemoryReader(MemoryReader.Patience.USUAL);

    ProcFs(Path root) {
        this.root = root;
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

    /** The capabilities that this service has in effect; none where that cannot be told. */
    long effectiveCapabilities() {
        try {
            var match = CAPABILITIES.matcher(text(root.resolve("self/status")));
            return match.find() ? Long.parseUnsignedLong(match.group(1), 16) : 0;
        } catch (IOException e) {
            return 0;
        }
    }

    /** The label that a security module such as AppArmor gave this service; empty where there is none. */
    String securityLabel() {
        for (var name : List.of("self/attr/apparmor/current", "self/attr/current")) {
            try {
                return text(root.resolve(name)).strip();
            } catch (IOException e) {
                // Without such a module the kernel refuses to answer.
            }
        }
        return "";
    }

    /** The files of the machine itself: those that its first process sees, or ours where they may not be looked at. */
    FileTree hostFiles() {
        var first = root.resolve("1/root");
        return Files.isDirectory(first) ? new FileTree(first) : OWN_FILES;
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
     * The arguments; none where there is no such process, where they may not be read, or where it does not answer.
     *
     * @throws IOException where they could not be read for another reason, such as too many open files: that must not
     *     look as if nobody was there
     */
    List<String> arguments(int pid) throws IOException {
        try {
            var stat = stat(pid);
            if (stat.isEmpty()) {
                return List.of();
            }
            var process = new ProcessId(pid, stat.get().startTime());
            var uid = Objects.requireNonNullElse(realUid(pid), ROOT);
            var line = memory.read(process, uid, () -> text(file(pid, "cmdline")));
            return Arrays.asList(line.split("\0", -1));
        } catch (AccessDeniedException | NoAnswerException e) {
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

    /** The locks of all files that anybody holds. */
    List<String> locks() throws IOException {
        return lines("locks");
    }

    /** What is mounted, as a process sees it: {@code self}, or a pid. */
    List<String> mounts(String who) throws IOException {
        return lines(who + "/mountinfo");
    }

    /** Whether the machine's own files lie elsewhere than ours; no, where that cannot be told. */
    boolean isInContainer() {
        try {
            var ours = Files.readSymbolicLink(root.resolve("self/ns/mnt"));
            return !ours.equals(Files.readSymbolicLink(root.resolve("1/ns/mnt")));
        } catch (IOException e) {
            return false;
        }
    }

    /** What stands at a path of the machine's own, as its first process sees it; null where there is nothing. */
    @Nullable
    FileStatus hostStatus(Path path) throws IOException {
        try {
            var there = root.resolve("1/root").resolve(Path.of("/").relativize(path));
            return Libc.status(Libc.AT_FDCWD, there.toString());
        } catch (Errno e) {
            if (e.is(Errno.ENOENT) || e.is(Errno.ENOTDIR)) {
                return null;
            }
            throw e;
        }
    }

    private List<String> lines(String file) throws IOException {
        return new String(read(root.resolve(file), LARGEST_LIST), StandardCharsets.UTF_8)
                .lines()
                .toList();
    }

    /** The version of the NVIDIA driver, where its kernel module is loaded. */
    @Nullable
    String driverVersion() {
        try {
            var match = DRIVER.matcher(text(root.resolve("driver/nvidia/version")));
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

    private static String text(Path file) throws IOException {
        return new String(read(file, LARGEST_OTHER), StandardCharsets.UTF_8);
    }

    private static byte[] read(Path file, int limit) throws IOException {
        try (var stream = Files.newInputStream(file)) {
            return stream.readNBytes(limit);
        }
    }
}

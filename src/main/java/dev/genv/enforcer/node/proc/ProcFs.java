package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls.Descriptor;
import dev.genv.enforcer.linux.FileTree.TrustedOwners.UntrustedException;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.linux.ProcStat.ProcStatus;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.node.proc.Hangable.Limits;
import dev.genv.enforcer.node.proc.Hangable.UnansweredException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/** The processes in {@code /proc}. */
public final class ProcFs {
    /** More than the kernel's limit for the environ of a new process. */
    static final int LARGEST_ENVIRON = 8 << 20;

    static final int LARGEST_OTHER = 1 << 20;

    private static final Pattern NUMBER = Pattern.compile("[1-9][0-9]{0,8}");

    private final Path root;
    private final Hangable memory;
    private final Hangable searches;
    private final Hangable stats;

    public ProcFs(Path root) {
        this.root = root;
        memory = new Hangable("reads-process-memory", Limits.LISTED);
        searches = memory.with(Limits.SEARCHED);
        stats = new Hangable("reads-process-stats", Limits.STATS);
    }

    private ProcFs(ProcFs listed) {
        root = listed.root;
        memory = listed.searches;
        searches = listed.searches;
        stats = listed.stats;
    }

    /** Returns the same processes for searches among all of them, which leave threads for the listed ones. */
    public ProcFs forSearches() {
        return new ProcFs(this);
    }

    /**
     * A process that a search may have to read.
     *
     * @param uid its real uid; null if unknown
     */
    public record Candidate(ProcessId id, @Nullable Long uid) {}

    /** Returns a process unless it has exited, or is a thread of the kernel. */
    Optional<Candidate> candidate(int pid) throws IOException {
        var content = content(pid, "stat");
        var stat = content == null ? null : ProcStat.parse(content);
        return stat == null || stat.isKernelThread() || stat.isZombie()
                ? Optional.empty()
                : Optional.of(new Candidate(new ProcessId(pid, stat.startTime()), realUid(pid)));
    }

    KnownPrograms knownPrograms() {
        return new KnownPrograms(this);
    }

    Path root() {
        return root;
    }

    public MachineFiles machine() {
        return new MachineFiles(root);
    }

    /** Begins an observation with its whole time for processes that do not answer. */
    public void beginObservation() {
        memory.beginObservation();
        searches.beginObservation();
        stats.beginObservation();
    }

    /** From now on, the processes of these uids count as their owner's. */
    public void setSubordinateUids(SubordinateUids known) {
        memory.setSubordinateUids(known);
        stats.setSubordinateUids(known);
    }

    /** Returns the uid of the account to which a subordinate uid belongs; another uid is returned unchanged. */
    public long ownerOf(long uid) {
        return memory.ownerOf(uid);
    }

    /** Reads a fact. */
    public interface Attempt<T> {
        Reading<T> read() throws IOException;
    }

    /** Returns what was read; an error of the system is a fact too. */
    public static <T> Reading<T> reading(Attempt<T> attempt) {
        try {
            return attempt.read();
        } catch (IOException e) {
            var failure = switch (e) {
                case AccessDeniedException _ -> Failure.DENIED;
                case NoSuchFileException _ -> Failure.ABSENT;
                case UntrustedException _ -> Failure.UNTRUSTED;
                case UnansweredException unanswered -> unanswered.failure();
                default -> Failure.OTHER;
            };
            return Reading.failed(failure, Errno.textOf(e));
        }
    }

    /** Returns the stat of a process. It does not answer during an execve(2) that does not end. */
    public Reading<Bytes> stat(int pid) {
        return reading(() -> guardedStat(pid, uidOrNull(pid), () -> statBytes(pid)));
    }

    /** Returns the stats of processes, in their order. */
    public List<Reading<Bytes>> stats(List<Integer> pids) throws InterruptedException {
        return each(pids, this::statBytes, (_, why) -> failed(why));
    }

    /** Returns what is read of each process, in their order, as {@link Hangable#callEach} does it. */
    <T> List<T> each(
            List<Integer> pids, Function<Integer, T> work, BiFunction<Integer, UnansweredException, T> unanswered)
            throws InterruptedException {
        return stats.callEach(pids, this::uidOrNull, work, unanswered);
    }

    @Nullable
    Long uidOrNull(int pid) {
        return uid(pid) instanceof Reading.Value<Long>(var uid) ? uid : null;
    }

    static <T> Reading<T> failed(UnansweredException why) {
        return Reading.failed(why.failure(), Errno.textOf(why));
    }

    /** It waits as long as the kernel does, for example during an execve(2) that does not end. */
    Reading<Bytes> statBytes(int pid) {
        try {
            return Reading.of(Bytes.of(Descriptor.readKernelFile(name(pid, "stat"), LARGEST_OTHER)));
        } catch (IOException e) {
            return Reading.failed(isGone(pid, e) ? Failure.ABSENT : Failure.OTHER, Errno.textOf(e));
        }
    }

    /** Returns the real uid; null if there is no such process, or if {@code status} does not contain it. */
    @Nullable
    public Long realUid(int pid) throws IOException {
        var status = status(pid);
        var uid = status == null ? ProcStatus.NONE : ProcStatus.realUid(status);
        return uid == ProcStatus.NONE ? null : uid;
    }

    /** Returns the real uid. */
    public Reading<Long> uid(int pid) {
        return reading(() -> {
            var status = status(pid);
            if (status == null) {
                return Reading.failed(Failure.ABSENT, "");
            }
            var uid = ProcStatus.realUid(status);
            return uid == ProcStatus.NONE ? Reading.failed(Failure.OTHER, "status has no uid") : Reading.of(uid);
        });
    }

    byte @Nullable [] status(int pid) throws IOException {
        return content(pid, "status");
    }

    private byte @Nullable [] content(int pid, String file) throws IOException {
        try {
            return Descriptor.readKernelFile(name(pid, file), LARGEST_OTHER);
        } catch (IOException e) {
            if (isGone(pid, e)) {
                return null;
            }
            throw e;
        }
    }

    /** Returns the folder of a thread that still runs. */
    Path runningThread(int pid) throws IOException {
        for (var thread : threads(pid)) {
            try {
                if (!stat(read(thread.resolve("stat"), LARGEST_OTHER)).hasEnded()) {
                    return thread;
                }
            } catch (NoSuchFileException e) {
                // The next one may still run.
            }
        }
        throw new NoSuchFileException("no thread of process " + pid + " runs");
    }

    /**
     * Returns the environ of a process.
     *
     * @param uid the real uid of the process
     * @throws UnansweredException if the process prevents the kernel from reading it
     */
    byte[] environ(ProcessId process, long uid) throws IOException {
        return guarded(process, uid, () -> read(file(process.pid(), "environ"), LARGEST_ENVIRON));
    }

    /** An environ, with the stats of the thread from which it was read. */
    record ThreadEnviron(Path thread, Bytes environ, Bytes before, Bytes after) {}

    /** The same from one of the threads that still run. A thread that exits has no environ, and shows an empty one. */
    ThreadEnviron environOfAThread(ProcessId process, long uid) throws IOException {
        IOException last = new NoSuchFileException("no thread of process " + process.pid() + " runs");
        for (var thread : threads(process.pid())) {
            try {
                var read = guarded(process, uid, () -> environOf(thread));
                if (!stat(read.before.array()).hasEnded()
                        && (read.environ.length() > 0
                                || stat(read.after.array()).addresses() != null)) {
                    return read;
                }
            } catch (UnansweredException e) {
                throw e; // all threads share the same memory
            } catch (IOException e) {
                last = e; // this thread has exited; the next one may still run
            }
        }
        throw last;
    }

    private static ThreadEnviron environOf(Path thread) throws IOException {
        var before = Bytes.of(read(thread.resolve("stat"), LARGEST_OTHER));
        var environ = Bytes.of(read(thread.resolve("environ"), LARGEST_ENVIRON));
        return new ThreadEnviron(thread, environ, before, Bytes.of(read(thread.resolve("stat"), LARGEST_OTHER)));
    }

    private static ProcStat stat(byte[] content) throws IOException {
        return ProcStat.parse(content);
    }

    /**
     * Executes what may wait for the memory of a process, and never longer than such a read may take.
     *
     * @param uid the real uid of the process; null if unknown
     * @throws UnansweredException if it does not answer
     * @throws IOException if the reading throws it
     */
    public <T> T guarded(ProcessId process, @Nullable Long uid, Callable<T> reading) throws IOException {
        return call(memory, process, uid, reading);
    }

    /** The same for what may wait for an execve(2) of the process. Its exit ends the wait. */
    <T> T guardedStat(int pid, @Nullable Long uid, Callable<T> reading) throws IOException {
        return call(stats, pid, uid, reading);
    }

    private static <T> T call(Hangable threads, Object subject, @Nullable Long uid, Callable<T> reading)
            throws IOException {
        try {
            return threads.call(subject, uid, reading);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("abandoned: it took too long");
        }
    }

    /**
     * Returns the beginning of the arguments, each ended by a zero byte; empty if there is no such process.
     *
     * @param uid the real uid of the process; null if unknown
     * @param limit in bytes
     * @throws UnansweredException if the process prevents the kernel from reading them
     */
    byte[] arguments(ProcessId process, @Nullable Long uid, int limit) throws IOException {
        return arguments(process, folder(process.pid()), uid, limit);
    }

    /** The same from the folder of one of its threads. */
    byte[] arguments(ProcessId process, Path thread, @Nullable Long uid, int limit) throws IOException {
        try {
            return guarded(process, uid, () -> read(thread.resolve("cmdline"), limit));
        } catch (IOException e) {
            if (isGone(process.pid(), e)) {
                return new byte[0];
            }
            throw e;
        }
    }

    public List<Integer> pids() throws IOException {
        return numbers(root);
    }

    /** Returns the directories of the threads of a process. Each path is made when it is asked for: there may be a million. */
    public Iterable<Path> threads(int pid) throws IOException {
        var tasks = file(pid, "task");
        var numbers = numbers(tasks);
        return () ->
                numbers.stream().map(thread -> tasks.resolve(thread.toString())).iterator();
    }

    private static List<Integer> numbers(Path directory) throws IOException {
        return entries(
                directory, names -> names.filter(NUMBER.asMatchPredicate()).map(Integer::valueOf));
    }

    /** Returns what this makes of the names in a directory. */
    public static <T> List<T> entries(Path directory, Function<Stream<String>, Stream<T>> result) throws IOException {
        try (var entries = Files.newDirectoryStream(directory)) {
            return result.apply(StreamSupport.stream(entries.spliterator(), false)
                            .map(entry -> String.valueOf(entry.getFileName())))
                    .toList();
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
    }

    private boolean isGone(int pid, IOException why) {
        // A read of a process that exits fails with ESRCH, for which Java has no specific exception.
        // With hidepid, the kernel denies even the question whether the process exists.
        return why instanceof NoSuchFileException || Files.notExists(file(pid, "stat"));
    }

    private String name(int pid, String file) {
        return root + "/" + pid + "/" + file;
    }

    public Path file(int pid, String name) {
        return folder(pid).resolve(name);
    }

    Path folder(int pid) {
        return root.resolve(Integer.toString(pid));
    }

    /** Returns the content of a file, up to a megabyte. */
    public static String text(Path file) throws IOException {
        return new String(read(file, LARGEST_OTHER), StandardCharsets.UTF_8);
    }

    public static byte[] read(Path file, int limit) throws IOException {
        return Descriptor.readKernelFile(file.toString(), limit);
    }
}

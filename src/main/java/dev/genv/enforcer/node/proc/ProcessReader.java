package dev.genv.enforcer.node.proc;

import static dev.genv.enforcer.node.proc.ProcFs.reading;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts.ThreadStats;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.ParentFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.linux.Environ;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.linux.ProcStat.ProcStatus;
import dev.genv.enforcer.linux.UidMap;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Sha256;
import dev.genv.enforcer.node.proc.Hangable.UnansweredException;
import dev.genv.enforcer.node.proc.MachineFiles.ProgramFiles;
import dev.genv.enforcer.node.proc.ProcessTurns.Turn;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/** Reads the facts of processes. One thread at a time uses it. */
public final class ProcessReader implements AutoCloseable {
    private static final int LARGEST_PAGE = 64 << 10;

    private static final Reading<EnvironFacts> NO_TIME = Reading.failed(Failure.NO_TIME, Hangable.NO_TIME);

    /**
     * The time of an observation for environs, about half of the usual interval. An environ of 5.3 MB, nearly the kernel's limit, takes
     * 30 ms, so this time limits the bytes too.
     */
    static final Duration TIME = Duration.ofSeconds(4);

    private final ProcFs proc;
    private final LongSupplier nanos;
    private final KnownPrograms known;
    /** Held by an abandoned thread if a process does not answer. */
    private final ReentrantLock inUse = new ReentrantLock();

    public ProcessReader(ProcFs proc) {
        this(proc, System::nanoTime);
    }

    /** @param nanos as {@link System#nanoTime} */
    ProcessReader(ProcFs proc, LongSupplier nanos) {
        this.proc = proc;
        this.nanos = nanos;
        known = proc.knownPrograms();
    }

    /**
     * Reads several processes, as {@link #read} does, and returns them in this order. Environs for which no time is left are not read, nor are
     * those of processes that run the same program as in the last observation.
     *
     * @param first the processes that are read before the others of their owners
     */
    public List<ProcessFacts> readAll(List<Integer> pids, Collection<Integer> first) throws InterruptedException {
        inUse.lock();
        try {
            return readAllNow(pids, first);
        } finally {
            inUse.unlock();
        }
    }

    private List<ProcessFacts> readAllNow(List<Integer> pids, Collection<Integer> first) throws InterruptedException {
        var inOrder = new LinkedHashSet<>(first);
        inOrder.retainAll(Set.copyOf(pids));
        inOrder.addAll(pids);
        known.retain(inOrder);
        var byPid = new HashMap<Integer, ProcessFacts>();
        var others = new ArrayList<Begun>();
        var begun = proc.each(
                List.copyOf(inOrder),
                pid -> known.readAgain(pid).<First>map(Known::new).orElseGet(() -> begin(pid)),
                this::unanswered);
        for (var answer : begun) {
            switch (answer) {
                case Known(var facts) -> byPid.put(facts.pid(), facts);
                case Begun process -> {
                    known.forget(process.pid);
                    others.add(process);
                }
            }
        }
        for (var facts : inTurns(others, process -> process.uid, TIME, this::read)) {
            byPid.put(facts.pid(), facts);
            known.remember(facts);
        }
        return pids.stream().map(pid -> Objects.requireNonNull(byPid.get(pid))).toList();
    }

    private Reading<Bytes> uidMap(int pid) {
        return reading(() -> Reading.of(Bytes.of(ProcFs.read(proc.file(pid, "uid_map"), UidMap.LARGEST))));
    }

    private ProcessFacts read(Turn<Begun> turn) {
        return read(turn.process(), true, turn.inTime());
    }

    /** Reads something of several processes in turns of their owners, and returns it in that order. */
    public <P, T> List<T> inTurns(Collection<P> processes, ToIntFunction<P> pid, Function<Turn<P>, T> reading)
            throws InterruptedException {
        return inTurns(processes, process -> proc.uid(pid.applyAsInt(process)), TIME, reading);
    }

    /**
     * The same in this time.
     *
     * @param uid returns the real uid of a process
     */
    <P, T> List<T> inTurns(
            Collection<P> processes, Function<P, Reading<Long>> uid, Duration time, Function<Turn<P>, T> reading)
            throws InterruptedException {
        var results = new ArrayList<T>();
        var turns = new ProcessTurns<>(processes, process -> owner(uid.apply(process)), time, nanos);
        while (turns.hasNext()) {
            results.add(reading.apply(turns.next()));
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
        }
        return results;
    }

    /** Processes without a known uid count as those of one owner. */
    private Object owner(Reading<Long> read) {
        return read instanceof Reading.Value<Long>(var uid) ? proc.ownerOf(uid) : Reading.class;
    }

    /** What is read of a process at first. */
    private sealed interface First {}

    /** It runs the same program as in the last observation. */
    private record Known(ProcessFacts facts) implements First {}

    /** What is read of another process before its turn is known, which it decides. */
    private record Begun(int pid, Reading<Bytes> stat, Reading<Long> uid, Reading<Bytes> namespacePids)
            implements First {}

    private Begun unanswered(int pid, UnansweredException why) {
        return new Begun(pid, ProcFs.failed(why), proc.uid(pid), unread());
    }

    /** Begins with one process. */
    private Begun beginGuarded(int pid) {
        try {
            return proc.guardedStat(pid, proc.uidOrNull(pid), () -> begin(pid));
        } catch (UnansweredException e) {
            return unanswered(pid, e);
        } catch (IOException e) {
            return new Begun(pid, Reading.failed(Failure.OTHER, Errno.textOf(e)), unread(), unread());
        }
    }

    private Begun begin(int pid) {
        var stat = proc.statBytes(pid);
        var status = reading(() -> {
            var content = proc.status(pid);
            return content == null ? unread() : Reading.of(Bytes.of(content));
        });
        return new Begun(pid, stat, status.flatMap(ProcessReader::uid), status.flatMap(ProcessReader::namespacePids));
    }

    private static Reading<Long> uid(Bytes status) {
        var uid = ProcStatus.realUid(status.array());
        return uid == ProcStatus.NONE ? unread() : Reading.of(uid);
    }

    private static Reading<Bytes> namespacePids(Bytes status) {
        return ProcStatus.namespacePids(status.array())
                .map(pids -> Reading.of(Bytes.of(pids.getBytes(StandardCharsets.US_ASCII))))
                .orElseGet(() -> Reading.failed(Failure.OTHER, "status has no NSpid"));
    }

    /** Reads one process. */
    ProcessFacts read(int pid) {
        return read(beginGuarded(pid), true, true);
    }

    /** Reads an ancestor without what the kernel takes from its memory. */
    ProcessFacts readAncestor(int pid) {
        var process = beginGuarded(pid);
        return new ProcessFacts(
                pid,
                process.stat,
                process.uid,
                ProcessFacts.skipped(),
                ProcessFacts.skipped(),
                ProcessFacts.skipped(),
                process.namespacePids,
                process.stat);
    }

    /** Adds the environ of an ancestor. */
    ProcessFacts withEnviron(ProcessFacts ancestor, boolean inTime) {
        var begun = new Begun(ancestor.pid(), ancestor.before(), ancestor.uid(), ancestor.namespacePids());
        return read(begun, false, inTime);
    }

    private ProcessFacts read(Begun process, boolean withProgram, boolean withEnviron) {
        var pid = process.pid;
        var stat = stat(process.stat);
        if (stat.isEmpty() || stat.get().isZombie()) {
            return ProcessFacts.unread(pid, process.stat);
        }
        var id = new ProcessId(pid, stat.get().startTime());
        var owner = process.uid instanceof Reading.Value<Long>(var number) ? number : null;
        return new ProcessFacts(
                pid,
                process.stat,
                process.uid,
                owner == null ? unread() : withEnviron ? reading(() -> environ(id, owner, stat.get())) : NO_TIME,
                withProgram ? program(pid, owner) : ProcessFacts.skipped(),
                withProgram ? cgroup(pid, owner, stat.get()) : ProcessFacts.skipped(),
                process.namespacePids,
                withProgram ? Reading.of(parent(stat.get().relations().parent())) : ProcessFacts.skipped(),
                withProgram ? uidMap(pid) : ProcessFacts.skipped(),
                reading(() -> proc.guardedStat(pid, owner, () -> proc.statBytes(pid))));
    }

    private ParentFacts parent(int pid) {
        var uid = proc.uid(pid);
        return new ParentFacts(pid, uid, uid.equals(Reading.of(0L)) ? program(pid, 0L) : ProcessFacts.skipped());
    }

    private Reading<ProgramFile> program(int pid, @Nullable Long uid) {
        return reading(() -> proc.guardedStat(pid, uid, () -> ProgramFiles.ofProcess(proc, pid)));
    }

    /** With version 1 of cgroups, a first thread that has exited is in the root of each hierarchy. */
    private Reading<Bytes> cgroup(int pid, @Nullable Long uid, ProcStat stat) {
        return reading(() -> {
            var folder = stat.hasEnded() ? proc.guardedStat(pid, uid, () -> proc.runningThread(pid)) : proc.folder(pid);
            return Reading.of(Bytes.of(ProcFs.read(folder.resolve("cgroup"), ProcessFacts.LARGEST_CGROUP)));
        });
    }

    private static <T> Reading<T> unread() {
        return Reading.failed(Failure.ABSENT, "");
    }

    private static Optional<ProcStat> stat(Reading<Bytes> stat) {
        return stat instanceof Reading.Value<Bytes>(var bytes) ? ProcStat.tryParse(bytes.array()) : Optional.empty();
    }

    private Reading<EnvironFacts> environ(ProcessId process, long uid, ProcStat stat) throws IOException {
        if (stat.hasEnded()) {
            var read = proc.environOfAThread(process, uid);
            var thread = ProcStat.parse(read.before().array());
            var environ = read.environ().array();
            var isTitle = isTitle(environ, process, read.thread(), uid, thread);
            return Reading.of(environ(environ, isTitle, new ThreadStats(read.before(), read.after())));
        }
        var bytes = proc.environ(process, uid);
        return Reading.of(environ(bytes, isTitle(bytes, process, proc.folder(process.pid()), uid, stat), null));
    }

    /**
     * Whether a title extends from the arguments into the environ. Then the kernel shows it as {@code cmdline}, up to the size of a page;
     * otherwise it shows exactly the arguments.
     */
    private boolean isTitle(byte[] environ, ProcessId process, Path thread, long uid, ProcStat stat)
            throws IOException {
        var addresses = stat.addresses();
        if (addresses == null || !Environ.isOneString(environ)) {
            return false;
        }
        var size = addresses.argumentsEnd() - addresses.argumentsBegin();
        if (size <= 0) {
            return false;
        }
        var shown = proc.arguments(process, thread, uid, (int) Math.min(size, LARGEST_PAGE) + 1).length;
        return shown > 0 && shown != Math.min(size, LARGEST_PAGE + 1);
    }

    private static EnvironFacts environ(byte[] bytes, boolean isTitle, @Nullable ThreadStats thread) {
        var id = Environ.value(bytes);
        var isLong = id.length > EnvironFacts.LONGEST_ID;
        return new EnvironFacts(
                bytes.length,
                Bytes.of(isLong ? Arrays.copyOf(id, EnvironFacts.LONGEST_ID) : id),
                isLong ? Sha256.hex(id) : "",
                Environ.isWellFormed(bytes) && !isTitle,
                thread);
    }

    /** Closes the files of known processes, unless an observation that hangs uses them: then the exit of the service closes them. */
    @Override
    public void close() {
        if (inUse.tryLock()) {
            try {
                known.close();
            } finally {
                inUse.unlock();
            }
        }
    }
}

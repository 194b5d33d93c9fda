package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.ParentFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.FileCalls.Descriptor;
import dev.genv.enforcer.linux.FileCalls.FileStatus;
import dev.genv.enforcer.linux.FileCalls.NamespaceLink;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.linux.ProcStat.ProcStatus;
import dev.genv.enforcer.linux.UidMap;
import dev.genv.enforcer.model.ProcessId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The listed processes whose environ was as execve(2) wrote it when an earlier observation read it. As long as such a process runs the same
 * program, its environ is not read again, nor is its executable as long as the file has the same owner and mode. Each program has other
 * addresses, because the kernel chooses them at random. A process can set its addresses to those of an earlier program (PR_SET_MM_MAP of
 * prctl(2)): it stays what it was, as if it had executed none.
 *
 * <p>The files of these processes stay open. The kernel binds them to the process: after its exit they answer nothing, also if another process
 * has its pid.
 */
final class KnownPrograms implements AutoCloseable {
    /** The largest number of processes. Each needs three descriptors, and the kernel keeps a page for each of them. */
    private static final int MOST = 1024;
    /** Of the descriptors that the service may have, the part that these processes may use is one of so many. */
    private static final int PART = 4;

    private static final int DESCRIPTORS = 3;
    /** personality(2): the kernel gives each program of this process the same addresses. */
    private static final long ADDR_NO_RANDOMIZE = 0x0040000;

    private static final int HEXADECIMAL = 16;
    /** More than the kernel writes for a process that is in few groups. The uid comes before the groups. */
    private static final int LARGEST = 8 << 10;

    private static final ThreadLocal<byte[]> BUFFERS = ThreadLocal.withInitial(() -> new byte[LARGEST]);

    private final ProcFs proc;
    private final int most;
    private final Map<Integer, KnownProgram> programs = new ConcurrentHashMap<>();

    /** @param proc of another directory than {@code /proc}, as in tests, no process is known */
    KnownPrograms(ProcFs proc) {
        this.proc = proc;
        most = isOfKernel(proc.root()) ? (int) Math.min(MOST, descriptors() / PART / DESCRIPTORS) : 0;
    }

    private static long descriptors() {
        try {
            return FileCalls.mostDescriptors();
        } catch (Errno e) {
            throw new IllegalStateException("getrlimit(2) does not fail", e);
        }
    }

    private static boolean isOfKernel(Path root) {
        try {
            return Files.getFileStore(root).type().equals("proc");
        } catch (IOException e) {
            return false;
        }
    }

    /** A program that a process was found to run, with its open files. */
    private static final class KnownProgram implements AutoCloseable {
        private final Path folder;
        private final Descriptor stat;
        private final Descriptor status;
        private final Descriptor cgroup;
        private final NamespaceLink userNamespace;
        private final FileStatus executable;
        private final ProcStat known;
        /** As they were read last. Environ, executable, parent and PID namespaces are those of the first time. */
        private ProcessFacts facts;

        /** That of the map; null before it was read. */
        private @Nullable Long lastUserNamespace;

        private boolean isRead;
        private boolean isForgotten;

        KnownProgram(Path folder, ProcStat known, ProcessFacts facts) throws IOException {
            this.folder = folder;
            this.known = known;
            this.facts = facts;
            userNamespace = new NamespaceLink(folder + "/ns/user");
            executable = FileCalls.status(folder.resolve("exe"));
            var opened = new ArrayList<Descriptor>();
            try {
                for (var file : List.of("/stat", "/status", "/cgroup")) {
                    opened.add(Descriptor.openKernelFile(folder + file));
                }
            } catch (IOException e) {
                opened.forEach(Descriptor::close);
                throw e;
            }
            stat = opened.get(0);
            status = opened.get(1);
            cgroup = opened.get(2);
        }

        /**
         * Reads what can change while it runs; null if the process has exited, runs another program, or has another parent, or if something is
         * unknown.
         *
         * @param buffer which this overwrites
         */
        Optional<ProcessFacts> readAgain(byte[] buffer) {
            synchronized (this) {
                if (isForgotten) {
                    return Optional.empty();
                }
                isRead = true;
            }
            try {
                return Optional.ofNullable(read(buffer));
            } catch (IOException e) {
                return Optional.empty(); // it has exited, and another process may have its pid
            } finally {
                endReading();
            }
        }

        private @Nullable ProcessFacts read(byte[] buffer) throws IOException {
            var uid = ProcStatus.realUid(buffer, status.readFromStart(buffer));
            var group = changed(facts.cgroup(), cgroup, buffer, ProcessFacts.LARGEST_CGROUP);
            var map = uidMap();
            var file = FileCalls.status(folder.resolve("exe"));
            // If it still exists, it had its pid when the other files were read.
            var now = changed(facts.after(), stat, buffer, buffer.length);
            if (uid == ProcStatus.NONE
                    || !hasSameRights(file)
                    || (!now.equals(facts.after()) && !isSameProgram(stat(now)))) {
                return null;
            }
            var isSame = facts.uid().equals(Reading.of(uid))
                    && group.equals(facts.cgroup())
                    && map.equals(facts.uidMap())
                    && now.equals(facts.after())
                    && now.equals(facts.before());
            if (!isSame) {
                facts = new ProcessFacts(
                        facts.pid(),
                        now,
                        Reading.of(uid),
                        facts.environ(),
                        facts.executable(),
                        group,
                        facts.namespacePids(),
                        facts.parent(),
                        map,
                        now);
            }
            return facts;
        }

        /** Returns the same reading if the file has the same content. */
        private static Reading<Bytes> changed(Reading<Bytes> before, Descriptor file, byte[] buffer, int limit)
                throws IOException {
            var size = Math.min(file.readFromStart(buffer), limit);
            if (before instanceof Reading.Value<Bytes>(var content)
                    && Arrays.equals(content.array(), 0, content.length(), buffer, 0, size)) {
                return before;
            }
            return Reading.of(Bytes.of(Arrays.copyOf(buffer, size)));
        }

        private boolean isSameProgram(ProcStat now) {
            return !now.hasEnded()
                    && now.startTime() == known.startTime()
                    && known.addresses() != null
                    && known.addresses().equals(now.addresses())
                    && now.relations().parent() == known.relations().parent();
        }

        /** Whether nobody else can change the file of the program than when it was read. */
        private boolean hasSameRights(FileStatus file) {
            return file.isSameFile(executable)
                    && file.mode() == executable.mode()
                    && file.uid() == executable.uid()
                    && file.born() == executable.born();
        }

        /** Returns the same reading in the same namespace, whose map is written only once. */
        private Reading<Bytes> uidMap() throws IOException {
            var now = userNamespace.number();
            if (lastUserNamespace != null
                    && now == lastUserNamespace
                    && facts.uidMap() instanceof Reading.Value<Bytes>(var content)
                    && content.length() > 0) {
                return facts.uidMap();
            }
            var map = Reading.of(Bytes.of(ProcFs.read(folder.resolve("uid_map"), UidMap.LARGEST)));
            lastUserNamespace = now;
            return map.equals(facts.uidMap()) ? facts.uidMap() : map;
        }

        private synchronized void endReading() {
            isRead = false;
            if (isForgotten) {
                close();
            }
        }

        /** Closes its files. If it does not answer, the thread that reads it still uses them and closes them later. */
        @Override
        public synchronized void close() {
            isForgotten = true;
            if (!isRead) {
                stat.close();
                status.close();
                cgroup.close();
            }
        }
    }

    /**
     * Reads what changes while a process runs one program; empty if it is not known to run the same one, and then it is to be forgotten. A
     * thread that is abandoned because the process does not answer changes nothing of the others.
     */
    Optional<ProcessFacts> readAgain(int pid) {
        var program = programs.get(pid);
        return program == null ? Optional.empty() : program.readAgain(BUFFERS.get());
    }

    void forget(int pid) {
        var known = programs.remove(pid);
        if (known != null) {
            known.close();
        }
    }

    void retain(Collection<Integer> pids) {
        Set.copyOf(programs.keySet()).stream()
                .filter(pid -> !pids.contains(pid))
                .forEach(this::forget);
    }

    /** Remembers the program of a process that was just read, if execve(2) alone can change what was read of it. */
    void remember(ProcessFacts facts) {
        if (programs.size() >= most || !isIntact(facts)) {
            return;
        }
        try {
            var stat = stat(facts.after());
            if (areFilesKnown(facts, stat.relations().parent())) {
                proc.guarded(new ProcessId(facts.pid(), stat.startTime()), uid(facts), () -> open(facts, stat))
                        .ifPresent(program -> programs.put(facts.pid(), program));
            }
        } catch (IOException e) {
            // It has exited, or the kernel does not show its personality.
        }
    }

    private static @Nullable Long uid(ProcessFacts facts) {
        return facts.uid() instanceof Reading.Value<Long>(var uid) ? uid : null;
    }

    private Optional<KnownProgram> open(ProcessFacts facts, ProcStat stat) throws IOException {
        if (!hasRandomAddresses(facts.pid())) {
            return Optional.empty();
        }
        var program = new KnownProgram(proc.folder(facts.pid()), stat, facts);
        // It may have exited before its files were opened. The thread is interrupted if nobody waits for it any more.
        if (program.readAgain(BUFFERS.get()).isEmpty() || Thread.currentThread().isInterrupted()) {
            program.close();
            return Optional.empty();
        }
        return Optional.of(program);
    }

    /** Whether its environ is as execve(2) wrote it. */
    private static boolean isIntact(ProcessFacts facts) {
        try {
            return facts.environ() instanceof Reading.Value<EnvironFacts>(var environ)
                    && environ.thread() == null
                    && environ.wellFormed()
                    && stat(facts.before()).isEnvironInPlace(stat(facts.after()), environ.size());
        } catch (IOException e) {
            return false;
        }
    }

    /** Whether it is known what it and its parent run. What is unknown, or can become trusted, is read each time. */
    private static boolean areFilesKnown(ProcessFacts facts, int parentPid) {
        return (facts.executable() instanceof Reading.Value<ProgramFile> || isUntrusted(facts.executable()))
                && facts.parent() instanceof Reading.Value<ParentFacts>(var parent)
                && parent.pid() == parentPid
                && parent.uid() instanceof Reading.Value<Long>
                && (parent.executable() instanceof Reading.Value<ProgramFile>
                        || parent.executable().equals(ProcessFacts.<ProgramFile>skipped()));
    }

    private static boolean isUntrusted(Reading<ProgramFile> executable) {
        return executable instanceof Reading.Failed<ProgramFile>(var failure, var _) && failure == Failure.UNTRUSTED;
    }

    private static ProcStat stat(Reading<Bytes> stat) throws IOException {
        if (stat instanceof Reading.Value<Bytes>(var content)) {
            return ProcStat.parse(content.array());
        }
        throw new IOException("there is no stat");
    }

    private boolean hasRandomAddresses(int pid) throws IOException {
        var text = ProcFs.text(proc.file(pid, "personality")).strip();
        try {
            return (Long.parseLong(text, HEXADECIMAL) & ADDR_NO_RANDOMIZE) == 0
                    && !ProcFs.text(proc.root().resolve("sys/kernel/randomize_va_space"))
                            .strip()
                            .equals("0");
        } catch (NumberFormatException e) {
            throw new IOException("personality has an unknown form", e);
        }
    }

    @Override
    public void close() {
        Set.copyOf(programs.keySet()).forEach(this::forget);
    }
}

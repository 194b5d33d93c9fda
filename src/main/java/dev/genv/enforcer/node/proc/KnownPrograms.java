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
import dev.genv.enforcer.linux.ProcStat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The listed processes whose environ was as execve(2) wrote it when an earlier observation read it. As long as such a process runs the same
 * program, its environ and its executable are not read again. Each program has other addresses, because the kernel chooses them at random. A
 * process can set its addresses to those of an earlier program (PR_SET_MM_MAP of prctl(2)): it stays what it was, as if it had executed none.
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

    private final Path root;
    private final int most;
    private final Map<Integer, KnownProgram> programs = new HashMap<>();

    /** @param root {@code /proc}; of another directory in tests no process is known */
    KnownPrograms(Path root) {
        this.root = root;
        most = isOfKernel(root) ? (int) Math.min(MOST, descriptors() / PART / DESCRIPTORS) : 0;
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
    static final class KnownProgram implements AutoCloseable {
        private final Descriptor stat;
        private final Descriptor status;
        private final Descriptor cgroup;
        private final ProcStat known;
        private final ProcessFacts facts;

        private KnownProgram(Path folder, ProcStat known, ProcessFacts facts) throws IOException {
            this.known = known;
            this.facts = facts;
            stat = Descriptor.openKernelFile(folder + "/stat");
            try {
                status = Descriptor.openKernelFile(folder + "/status");
                try {
                    cgroup = Descriptor.openKernelFile(folder + "/cgroup");
                } catch (IOException e) {
                    status.close();
                    throw e;
                }
            } catch (IOException e) {
                stat.close();
                throw e;
            }
        }

        byte[] status() throws IOException {
            return status.readFromStart(ProcFs.LARGEST_OTHER);
        }

        byte[] cgroup() throws IOException {
            return cgroup.readFromStart(ProcessFacts.LARGEST_CGROUP);
        }

        /** Returns the present stat; null if the process has exited, runs another program, or has another parent. */
        @Nullable
        Bytes statOfSameProgram() throws IOException {
            var content = stat.readFromStart(ProcFs.LARGEST_OTHER);
            var now = ProcStat.parse(content);
            return !now.hasEnded()
                            && now.startTime() == known.startTime()
                            && known.addresses() != null
                            && known.addresses().equals(now.addresses())
                            && now.relations().parent() == known.relations().parent()
                    ? Bytes.of(content)
                    : null;
        }

        /** The facts when its program was found, of which environ, executable, parent and PID namespaces are still true. */
        ProcessFacts facts() {
            return facts;
        }

        @Override
        public void close() {
            stat.close();
            status.close();
            cgroup.close();
        }
    }

    /** Returns the program of a process; null if it is not known. */
    @Nullable
    KnownProgram find(int pid) {
        return programs.get(pid);
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
        if (programs.size() >= most || !isIntact(facts) || !isIdentified(facts)) {
            return;
        }
        try {
            var folder = root.resolve(Integer.toString(facts.pid()));
            if (!hasRandomAddresses(folder)) {
                return;
            }
            var program = new KnownProgram(folder, stat(facts.after()), facts);
            programs.put(facts.pid(), program);
            if (program.statOfSameProgram() == null) {
                forget(facts.pid());
            }
        } catch (IOException e) {
            forget(facts.pid()); // it has exited, or the kernel does not show its personality
        }
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

    private static boolean isIdentified(ProcessFacts facts) {
        return isIdentified(facts.executable())
                && facts.parent() instanceof Reading.Value<ParentFacts>(var parent)
                && parent.uid() instanceof Reading.Value<Long>
                && (isIdentified(parent.executable())
                        || parent.executable().equals(ProcessFacts.<ProgramFile>skipped()));
    }

    private static boolean isIdentified(Reading<ProgramFile> executable) {
        return executable instanceof Reading.Value<ProgramFile>
                || (executable instanceof Reading.Failed<ProgramFile>(var failure, var _)
                        && failure == Failure.UNTRUSTED);
    }

    private static ProcStat stat(Reading<Bytes> stat) throws IOException {
        if (stat instanceof Reading.Value<Bytes>(var content)) {
            return ProcStat.parse(content.array());
        }
        throw new IOException("there is no stat");
    }

    private boolean hasRandomAddresses(Path folder) throws IOException {
        try {
            var personality =
                    Long.parseLong(ProcFs.text(folder.resolve("personality")).strip(), HEXADECIMAL);
            return (personality & ADDR_NO_RANDOMIZE) == 0
                    && !ProcFs.text(root.resolve("sys/kernel/randomize_va_space"))
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

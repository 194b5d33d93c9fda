package dev.genv.enforcer.testsupport.fake;

import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** A fake {@code /proc} with any processes. */
public final class FakeProc {
    private final Path root;

    public FakeProc(Path root) {
        this.root = root;
    }

    public Path root() {
        return root;
    }

    /** Adds a sleeping {@code python} of user 1000 that runs the file of sleep, started at tick 1000, without arguments and variables. */
    public FakeProcess process(int pid) throws IOException {
        var process = new FakeProcess(Files.createDirectories(root.resolve(Integer.toString(pid))), pid);
        process.writeStat();
        if (!Files.isSymbolicLink(process.file("exe"))) {
            process.exe(Path.of("/bin/sleep"));
        }
        if (!Files.exists(root.resolve("devices"))) {
            Files.writeString(root.resolve("devices"), "Character devices:\n  1 mem\n\nBlock devices:\n");
        }
        return process.uid(1000)
                .cgroup("/")
                .uidMap("         0          0 4294967295")
                .arguments()
                .environ();
    }

    /** The mount namespace of {@code self}, or of a pid. */
    public FakeProc mountNamespace(String who, long inode) throws IOException {
        var link = Files.createDirectories(folder(who).resolve("ns")).resolve("mnt");
        Files.deleteIfExists(link);
        Files.createSymbolicLink(link, Path.of("mnt:[" + inode + "]"));
        return this;
    }

    /** The lines of {@code mountinfo} of {@code self}, or of a pid. */
    public FakeProc mounts(String who, String... lines) throws IOException {
        Files.write(folder(who).resolve("mountinfo"), List.of(lines));
        return this;
    }

    /** The text of {@code /proc/driver/nvidia/version}. */
    public void writeDriver(String version) throws IOException {
        Files.writeString(Files.createDirectories(root.resolve("driver/nvidia")).resolve("version"), version);
    }

    /** Sets the time since boot. */
    public void writeUptime(long seconds) throws IOException {
        Files.writeString(root.resolve("uptime"), seconds + ".00 0.00\n");
    }

    /** Sets the service's effective capabilities, as a hexadecimal number, and its AppArmor label. */
    public void writeSelf(String capabilities, String label) throws IOException {
        var self = self();
        Files.writeString(
                self.resolve("status"),
                "Name:\tjava\nCapPrm:\t0000000000000000\nCapEff:\t%s\n".formatted(capabilities));
        Files.writeString(Files.createDirectories(self.resolve("attr")).resolve("current"), label + "\n");
    }

    /** Sets the inode of the service's PID namespace. */
    public void pidNamespace(long inode) throws IOException {
        namespace("pid", inode);
    }

    /** The first one has the number 4026531835. */
    public void cgroupNamespace(long inode) throws IOException {
        namespace("cgroup", inode);
    }

    private void namespace(String kind, long inode) throws IOException {
        var link = Files.createDirectories(self().resolve("ns")).resolve(kind);
        Files.deleteIfExists(link);
        Files.createSymbolicLink(link, Path.of("%s:[%d]".formatted(kind, inode)));
    }

    private Path folder(String who) throws IOException {
        return who.equals("self") ? self() : Files.createDirectories(root.resolve(who));
    }

    private Path self() throws IOException {
        var self = root.resolve("self");
        if (Files.notExists(self)) {
            Files.createSymbolicLink(
                    self, Files.createDirectories(root.resolve("4194304")).getFileName());
        }
        return self;
    }

    /** Sets the root directory of the machine's first process, to which a link leads, and in which root has an account. */
    public Path hostRoot() throws IOException {
        var host = root.resolve("1/root");
        if (Files.notExists(host)) {
            var directory = root.resolve("files-of-1");
            Files.writeString(Files.createDirectories(directory.resolve("etc")).resolve("passwd"), "root:x:0:0:::\n");
            Files.createDirectories(host.getParent());
            Files.createSymbolicLink(host, directory);
        }
        return host;
    }

    /** A process. Every change is written at once. */
    public static final class FakeProcess {
        private static final long KERNEL_THREAD = 0x0020_0000;
        private static final long DATA = 94032225483824L;
        private static final long ARGUMENTS = 140727971764955L;
        private final Path folder;
        private final long[] numbers = new long[53];
        private long uid = 1000;
        private String namespacePids;
        private String command = "python";
        private char state = 'S';

        private FakeProcess(Path folder, int pid) {
            this.folder = folder;
            numbers[1] = pid;
            namespacePids = Integer.toString(pid);
            numbers[4] = 1; // parent
            numbers[5] = pid; // process group
            numbers[6] = pid; // session
            numbers[20] = 1; // threads
            numbers[22] = 1000; // start time
            place(0);
        }

        public Path file(String name) {
            return folder.resolve(name);
        }

        /** Has a file not answer, and returns what a test may write to, so that it does. */
        public Path hang(String name) throws IOException {
            Files.delete(file(name));
            return Programs.fifo(file(name));
        }

        public FakeProcess command(String name) throws IOException {
            command = name;
            return writeStat();
        }

        public FakeProcess state(char letter) throws IOException {
            state = letter;
            return writeStat();
        }

        public FakeProcess threads(int count) throws IOException {
            numbers[20] = count;
            return writeStat();
        }

        /** Adds a thread with its own files. */
        public FakeProcess thread(int tid) throws IOException {
            var thread = new FakeProcess(Files.createDirectories(file("task").resolve(Integer.toString(tid))), tid);
            return thread.arguments().environ();
        }

        public FakeProcess startTime(long ticks) throws IOException {
            numbers[22] = ticks;
            return writeStat();
        }

        public FakeProcess kernelThread() throws IOException {
            numbers[9] |= KERNEL_THREAD;
            return withoutEnvironment();
        }

        /** Makes the environment unreadable, as while a process exits or executes a program. */
        public FakeProcess withoutEnvironment() throws IOException {
            environ();
            Arrays.fill(numbers, 45, 52, 0);
            return writeStat();
        }

        /** Shows zeros as addresses, as the kernel does to a reader without SYS_PTRACE, which may have its environ by PERFMON. */
        public FakeProcess denyTrace() throws IOException {
            Arrays.fill(numbers, 45, 52, 0);
            return writeStat();
        }

        /** Sets the real uid; the other uids differ. */
        public FakeProcess uid(long real) throws IOException {
            uid = real;
            var name = command.replace("\\", "\\\\").replace("\n", "\\n");
            Files.writeString(file("status"), """
                    Name:\t%s
                    Umask:\t0022
                    State:\t%s
                    Tgid:\t%d
                    Pid:\t%d
                    Uid:\t%d\t%d\t%d\t%d
                    Gid:\t100\t100\t100\t100
                    NSpid:\t%s
                    """.formatted(
                            name, state, numbers[1], numbers[1], uid, uid + 1, uid + 1, uid + 1, namespacePids));
            return this;
        }

        /** Puts it into a user namespace with these lines of {@code uid_map}. */
        public FakeProcess uidMap(String... lines) throws IOException {
            Files.write(file("uid_map"), List.of(lines));
            return this;
        }

        public FakeProcess arguments(String... arguments) throws IOException {
            var text = terminated(arguments);
            Files.writeString(file("cmdline"), text);
            numbers[48] = numbers[49] - text.getBytes(StandardCharsets.UTF_8).length;
            return writeStat();
        }

        /** Sets its program. */
        public FakeProcess exe(Path program) throws IOException {
            Files.deleteIfExists(file("exe"));
            Files.createSymbolicLink(file("exe"), program);
            return this;
        }

        /** Makes its program unreadable, as when its first thread has exited. */
        public FakeProcess withoutProgram() throws IOException {
            Files.delete(file("exe"));
            return this;
        }

        public FakeProcess environ(String... entries) throws IOException {
            return environ(terminated(entries).getBytes(StandardCharsets.UTF_8));
        }

        public FakeProcess environ(byte[] bytes) throws IOException {
            Files.write(file("environ"), bytes);
            place(bytes.length);
            return writeStat();
        }

        /** Writes into its environ, as setproctitle(3) does: the addresses stay. */
        public FakeProcess overwrite(byte[] bytes) throws IOException {
            Files.write(file("environ"), bytes);
            return this;
        }

        /** Overwrites its environ with zeros. */
        public FakeProcess overwrite() throws IOException {
            return overwrite(new byte[(int) Files.size(file("environ"))]);
        }

        /** Moves its environ, as another program has it elsewhere. */
        public FakeProcess moveEnviron(long bytes) throws IOException {
            for (var field = 48; field < 52; field++) {
                numbers[field] += bytes;
            }
            return writeStat();
        }

        public FakeProcess parent(int pid) throws IOException {
            numbers[4] = pid;
            return writeStat();
        }

        public FakeProcess group(int leader) throws IOException {
            numbers[5] = leader;
            return writeStat();
        }

        public FakeProcess session(int leader) throws IOException {
            numbers[6] = leader;
            return writeStat();
        }

        /** Sets its path in the cgroup hierarchy of version 2. */
        public FakeProcess cgroup(String path) throws IOException {
            Files.writeString(file("cgroup"), "0::" + path + "\n");
            return this;
        }

        /** Sets its pids in the PID namespaces, separated by tabs. */
        public FakeProcess namespacePids(String pids) throws IOException {
            namespacePids = pids;
            return uid(uid);
        }

        /** Sets the addresses of its arguments and, directly after them, of an environ of this size. */
        private void place(int size) {
            numbers[45] = DATA;
            numbers[46] = DATA + 1656;
            numbers[47] = DATA + 311_296;
            numbers[48] = numbers[48] == 0 ? ARGUMENTS : numbers[48];
            numbers[49] = ARGUMENTS + 8;
            numbers[50] = ARGUMENTS + 8;
            numbers[51] = ARGUMENTS + 8 + size;
        }

        private FakeProcess writeStat() throws IOException {
            // proc_pid_stat(5): 52 fields, of which the second is the name and the third the state.
            var rest = Arrays.stream(numbers, 4, numbers.length)
                    .mapToObj(Long::toUnsignedString)
                    .collect(Collectors.joining(" "));
            Files.writeString(file("stat"), "%d (%s) %s %s\n".formatted(numbers[1], command, state, rest));
            Files.writeString(file("comm"), command + "\n");
            return this;
        }

        private static String terminated(String... texts) {
            return Arrays.stream(texts).map(text -> text + "\0").collect(Collectors.joining());
        }
    }
}

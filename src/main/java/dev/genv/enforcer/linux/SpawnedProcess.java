package dev.genv.enforcer.linux;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.genv.enforcer.linux.FileCalls.Descriptor;
import dev.genv.enforcer.linux.Libc.NativeFunction;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A program that posix_spawn(3) has started: in the root directory, without input, with no open files but its output, with the default
 * signals, and as the leader of its own session. {@link ProcessBuilder} needs a second program for each start, and a thread that waits.
 * One thread at a time uses this class. The kernel keeps the pid until that thread has seen the exit.
 */
public final class SpawnedProcess extends Process {
    private static final int SIGCHLD = 17;
    private static final long SIG_DFL = 0;
    private static final int WNOHANG = 1;
    private static final long FIONREAD = 0x541B;
    /** POSIX_SPAWN_SETSIGDEF, POSIX_SPAWN_SETSIGMASK and POSIX_SPAWN_SETSID. */
    private static final short FLAGS = 0x04 | 0x08 | 0x80;

    /** More bytes than a struct of posix_spawn(3) has: 336 of the attributes, 128 of the signals, 80 of the actions. */
    private static final long STRUCT = 512;

    private static final NativeFunction PIPE2 = NativeFunction.of("pipe2");
    private static final NativeFunction IOCTL = NativeFunction.of("ioctl");
    private static final NativeFunction WAITPID = NativeFunction.of("waitpid");
    private static final NativeFunction KILL = NativeFunction.of("kill");
    private static final NativeFunction SIGNAL = NativeFunction.returningLong("signal");
    private static final int MOST_ARGUMENTS = 6;
    private static final Map<String, NativeFunction> SPAWN = new ConcurrentHashMap<>();

    private final int pid;
    private final Output stdout;
    private final Output stderr;
    private boolean isReaped;
    private @Nullable Integer exitCode;

    private SpawnedProcess(int pid, Descriptor stdout, Descriptor stderr) {
        this.pid = pid;
        this.stdout = new Output(stdout);
        this.stderr = new Output(stderr);
    }

    /** Whether the C library can do it: glibc since 2.34. musl cannot close the service's files in the child. */
    public static boolean isSupported() {
        return NativeFunction.exists("posix_spawn_file_actions_addclosefrom_np");
    }

    /**
     * Starts a program. A script needs its {@code #!}.
     *
     * @param command the path of the program, and its arguments
     * @param environment all its variables, as {@code NAME=value}
     * @throws Errno of execve(2), or EINVAL if a text contains a zero byte, which ends a text in C
     */
    public static SpawnedProcess start(List<String> command, List<String> environment) throws Errno {
        // If it is ignored, as the service may have inherited it, the kernel keeps neither the exit code nor the pid.
        SIGNAL.call(SIGCHLD, SIG_DFL);
        var ends = new ArrayList<Descriptor>();
        try (var arena = Arena.ofConfined()) {
            for (var pipe = 0; pipe < 2; pipe++) {
                var numbers = arena.allocate(JAVA_INT, 2);
                PIPE2.call(numbers.address(), FileCalls.O_CLOEXEC);
                ends.add(new Descriptor(numbers.getAtIndex(JAVA_INT, 0)));
                ends.add(new Descriptor(numbers.getAtIndex(JAVA_INT, 1)));
            }
            var pid = spawn(arena, texts(arena, command), texts(arena, environment), ends.get(1), ends.get(3));
            return new SpawnedProcess(pid, ends.removeFirst(), ends.remove(1));
        } finally {
            ends.forEach(Descriptor::close);
        }
    }

    /** Returns an array of C strings, which ends with null. */
    private static MemorySegment texts(Arena arena, List<String> texts) throws Errno {
        var array = arena.allocate(ADDRESS, texts.size() + 1L);
        for (var index = 0; index < texts.size(); index++) {
            if (texts.get(index).indexOf('\0') >= 0) {
                throw new Errno("posix_spawn", Errno.EINVAL);
            }
            array.setAtIndex(ADDRESS, index, arena.allocateFrom(texts.get(index)));
        }
        return array;
    }

    private static int spawn(
            Arena arena, MemorySegment arguments, MemorySegment environment, Descriptor stdout, Descriptor stderr)
            throws Errno {
        var attributes = arena.allocate(STRUCT, Long.BYTES);
        var signals = arena.allocate(STRUCT, Long.BYTES);
        call("attr_init", attributes.address());
        call("attr_setsigmask", attributes.address(), signals.address()); // each thread of the JVM blocks some
        call("attr_setsigdefault", attributes.address(), signals.fill((byte) -1).address());
        call("attr_setflags", attributes.address(), FLAGS);
        var actions = arena.allocate(STRUCT, Long.BYTES).address();
        call("_file_actions_init", actions);
        try {
            call(
                    "_file_actions_addopen",
                    actions,
                    0,
                    arena.allocateFrom("/dev/null").address(),
                    FileCalls.O_RDONLY,
                    0);
            call("_file_actions_adddup2", actions, stdout.number(), 1);
            call("_file_actions_adddup2", actions, stderr.number(), 2);
            call("_file_actions_addclosefrom_np", actions, 3);
            call("_file_actions_addchdir_np", actions, arena.allocateFrom("/").address());
            var pid = arena.allocate(JAVA_INT);
            call(
                    "",
                    pid.address(),
                    arguments.get(ADDRESS, 0).address(),
                    actions,
                    attributes.address(),
                    arguments.address(),
                    environment.address());
            return pid.get(JAVA_INT, 0);
        } finally {
            call("_file_actions_destroy", actions);
        }
    }

    /** Calls a function of posix_spawn(3). They return the number of the error. */
    private static void call(String suffix, long... arguments) throws Errno {
        var name = "posix_spawn" + suffix;
        var all = Arrays.copyOf(arguments, MOST_ARGUMENTS);
        var error = (int)
                SPAWN.computeIfAbsent(name, NativeFunction::of).call(all[0], all[1], all[2], all[3], all[4], all[5]);
        if (error != 0) {
            throw new Errno(name, error);
        }
    }

    /** The end of a pipe. */
    private static final class Output extends InputStream {
        private final Descriptor pipe;

        Output(Descriptor pipe) {
            this.pipe = pipe;
        }

        @Override
        public int available() throws Errno {
            try (var arena = Arena.ofConfined()) {
                var count = arena.allocate(JAVA_INT);
                IOCTL.call(pipe.number(), FIONREAD, count.address());
                return count.get(JAVA_INT, 0);
            }
        }

        @Override
        public int read() throws IOException {
            var next = new byte[1];
            return read(next) < 0 ? -1 : Byte.toUnsignedInt(next[0]);
        }

        @Override
        public int read(byte[] target, int offset, int length) throws Errno {
            var bytes = pipe.read(Math.min(length, Math.max(available(), 1)));
            System.arraycopy(bytes, 0, target, offset, bytes.length);
            return bytes.length == 0 && length > 0 ? -1 : bytes.length;
        }

        @Override
        public void close() {
            pipe.close();
        }
    }

    @Override
    public OutputStream getOutputStream() {
        return OutputStream.nullOutputStream();
    }

    @Override
    public InputStream getInputStream() {
        return stdout;
    }

    @Override
    public InputStream getErrorStream() {
        return stderr;
    }

    @Override
    public boolean isAlive() {
        if (!isReaped) {
            try (var arena = Arena.ofConfined()) {
                var status = arena.allocate(JAVA_INT);
                if (WAITPID.call(pid, status.address(), WNOHANG) == pid) {
                    isReaped = true;
                    var number = status.get(JAVA_INT, 0); // see wait(2)
                    var signal = number & 0x7f;
                    exitCode = signal == 0 ? number >> Byte.SIZE & 0xff : 128 + signal;
                }
            } catch (Errno e) {
                isReaped = true; // by other code: the pid may be that of another process
            }
        }
        return !isReaped;
    }

    /** Returns the exit code as a shell does: 137 after a SIGKILL. */
    @Override
    public int exitValue() {
        if (isAlive() || exitCode == null) {
            throw new IllegalThreadStateException("the exit code of process " + pid + " is unknown");
        }
        return exitCode;
    }

    @Override
    public int waitFor() throws InterruptedException {
        return waitFor(1, TimeUnit.DAYS) ? exitValue() : waitFor();
    }

    /** Waits. An interrupt has no effect before the next call. */
    @Override
    public boolean waitFor(long timeout, TimeUnit unit) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        if (isAlive()) {
            try (var pidfd = new Descriptor(Libc.pidfdOpen(pid))) {
                pidfd.poll(FileCalls.POLLIN, (int) Math.min(unit.toMillis(timeout) + 1, Integer.MAX_VALUE));
            } catch (Errno e) {
                unit.sleep(timeout); // no descriptor is left, or the kernel has no pidfd
            }
        }
        return !isAlive();
    }

    /** Kills the processes of its group, and closes its output. */
    @Override
    public void destroy() {
        try {
            if (isAlive()) {
                KILL.call(-pid, Libc.SIGKILL);
            }
        } catch (Errno e) {
            // It runs as another user: it remains alive.
        }
        stdout.close();
        stderr.close();
    }

    @Override
    public Stream<ProcessHandle> descendants() {
        return ProcessHandle.of(pid).stream().flatMap(ProcessHandle::descendants);
    }
}

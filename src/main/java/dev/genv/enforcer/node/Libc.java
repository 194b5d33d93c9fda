package dev.genv.enforcer.node;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The system calls that Java does not offer: files relative to a directory and without following links, flock(2), and
 * signals through a process descriptor. Each throws {@link Errno} where the call fails.
 */
final class Libc {
    static final int AT_FDCWD = -100;
    static final int AT_SYMLINK_NOFOLLOW = 0x100;
    static final int AT_EMPTY_PATH = 0x1000;
    static final int AT_STATX_DONT_SYNC = 0x4000;
    static final int O_RDONLY = 0;
    static final int O_WRONLY = 1;
    static final int O_CREAT = 0100;
    static final int O_EXCL = 0200;
    static final int O_NONBLOCK = 04000;
    static final int O_CLOEXEC = 02000000;
    // These two are the only flags here that differ between the architectures (asm/fcntl.h).
    private static final boolean ARM = System.getProperty("os.arch").equals("aarch64");
    static final int O_DIRECTORY = ARM ? 040000 : 0200000;
    static final int O_NOFOLLOW = ARM ? 0100000 : 0400000;
    static final int SIGKILL = 9;
    static final int SIGTERM = 15;

    /** In bytes. Native memory of the size of a file would stay with the process after it was freed. */
    private static final int BUFFER = 64 << 10;

    private static final int LOCK_EX = 2;
    private static final int LOCK_NB = 4;
    private static final int STATX_BASIC_STATS_AND_BTIME = 0xfff;
    private static final int SC_CLK_TCK = 2;
    private static final long SYS_PIDFD_SEND_SIGNAL = 424;
    private static final long SYS_PIDFD_OPEN = 434;
    private static final long NANOS_PER_SECOND = 1_000_000_000L;
    private static final Linker LINKER = Linker.nativeLinker();
    private static final VarHandle ERRNO =
            Linker.Option.captureStateLayout().varHandle(MemoryLayout.PathElement.groupElement("errno"));
    private static final int NOT_VARIADIC = -1;

    private static final Function OPENAT = function("openat", 3, JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT);
    private static final Function CLOSE = function("close", NOT_VARIADIC, JAVA_INT, JAVA_INT);
    private static final Function READ = function("read", NOT_VARIADIC, JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG);
    private static final Function WRITE = function("write", NOT_VARIADIC, JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG);
    private static final Function FSYNC = function("fsync", NOT_VARIADIC, JAVA_INT, JAVA_INT);
    private static final Function FLOCK = function("flock", NOT_VARIADIC, JAVA_INT, JAVA_INT, JAVA_INT);
    private static final Function FCHMOD = function("fchmod", NOT_VARIADIC, JAVA_INT, JAVA_INT, JAVA_INT);
    private static final Function RENAMEAT =
            function("renameat", NOT_VARIADIC, JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT, ADDRESS);
    private static final Function UNLINKAT = function("unlinkat", NOT_VARIADIC, JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT);
    private static final Function STATX =
            function("statx", NOT_VARIADIC, JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT, ADDRESS);
    private static final Function SYSCALL =
            function("syscall", 1, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final Function SYSCONF = function("sysconf", NOT_VARIADIC, JAVA_LONG, JAVA_INT);
    private static final Function CLOCK_GETTIME = function("clock_gettime", NOT_VARIADIC, JAVA_INT, JAVA_INT, ADDRESS);
    private static final Function GETEUID = function("geteuid", NOT_VARIADIC, JAVA_INT);

    private Libc() {}

    /** Opens a path relative to a directory; close-on-exec, never as a controlling terminal, never blocking. */
    static int openat(int directory, String path, int flags, int mode) throws Errno {
        try (var arena = Arena.ofConfined()) {
            var all = flags | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW;
            return (int) OPENAT.call(directory, arena.allocateFrom(path), all, mode);
        }
    }

    /** Closes it, once: after EINTR the descriptor is closed all the same, and its number may be somebody else's. */
    static void close(int descriptor) throws Errno {
        CLOSE.callOnce(descriptor);
    }

    /** Reads to the end of a file, but no more than so many bytes. */
    static byte[] read(int descriptor, int limit) throws Errno {
        try (var arena = Arena.ofConfined()) {
            var buffer = arena.allocate(Math.min(BUFFER, limit));
            var bytes = new byte[limit];
            var filled = 0;
            for (var count = 1; filled < limit && count > 0; filled += count) {
                count = (int) READ.call(descriptor, buffer, Math.min(BUFFER, limit - filled));
                MemorySegment.copy(buffer, JAVA_BYTE, 0, bytes, filled, count);
            }
            return filled == limit ? bytes : Arrays.copyOf(bytes, filled);
        }
    }

    static void write(int descriptor, byte[] bytes) throws Errno {
        try (var arena = Arena.ofConfined()) {
            var buffer = arena.allocateFrom(JAVA_BYTE, bytes);
            for (var written = 0L; written < bytes.length; ) {
                written += WRITE.call(descriptor, buffer.asSlice(written), bytes.length - written);
            }
        }
    }

    static void fsync(int descriptor) throws Errno {
        FSYNC.call(descriptor);
    }

    static void fchmod(int descriptor, int mode) throws Errno {
        FCHMOD.call(descriptor, mode);
    }

    /** Tries to take flock(2)'s exclusive lock. genv's lock is this one; Java's own file locks do not exclude it. */
    static boolean tryFlock(int descriptor) throws Errno {
        try {
            FLOCK.call(descriptor, LOCK_EX | LOCK_NB);
            return true;
        } catch (Errno e) {
            if (e.is(Errno.EAGAIN)) {
                return false;
            }
            throw e;
        }
    }

    static void renameat(int directory, String from, String to) throws Errno {
        try (var arena = Arena.ofConfined()) {
            RENAMEAT.call(directory, arena.allocateFrom(from), directory, arena.allocateFrom(to));
        }
    }

    static void unlinkat(int directory, String path) throws Errno {
        try (var arena = Arena.ofConfined()) {
            UNLINKAT.call(directory, arena.allocateFrom(path), 0);
        }
    }

    /** What an open descriptor refers to. */
    static FileStatus status(int descriptor) throws Errno {
        return statx(descriptor, "", AT_EMPTY_PATH);
    }

    /** What a name in a directory refers to; a link is itself. */
    static FileStatus status(int directory, String name) throws Errno {
        return statx(directory, name, AT_SYMLINK_NOFOLLOW);
    }

    /**
     * What a path leads to, through links, as far as this machine knows: no server is asked, for one of a user's own need
     * not answer.
     */
    static FileStatus status(Path path) throws Errno {
        return statx(AT_FDCWD, path.toString(), AT_STATX_DONT_SYNC);
    }

    /** Opens a descriptor that stays with this very process, whoever gets the pid later. */
    static int pidfdOpen(int pid) throws Errno {
        return (int) SYSCALL.call(SYS_PIDFD_OPEN, (long) pid, 0L, 0L, 0L);
    }

    static void pidfdSendSignal(int pidfd, int signal) throws Errno {
        SYSCALL.call(SYS_PIDFD_SEND_SIGNAL, (long) pidfd, (long) signal, 0L, 0L);
    }

    /** What one of the kernel's clocks shows, in nanoseconds. */
    static long clock(int clock) throws Errno {
        try (var arena = Arena.ofConfined()) {
            var time = arena.allocate(JAVA_LONG, 2);
            CLOCK_GETTIME.call(clock, time);
            return time.getAtIndex(JAVA_LONG, 0) * NANOS_PER_SECOND + time.getAtIndex(JAVA_LONG, 1);
        }
    }

    static long nanosPerTick() throws Errno {
        return NANOS_PER_SECOND / SYSCONF.call(SC_CLK_TCK);
    }

    static long effectiveUid() throws Errno {
        return Integer.toUnsignedLong((int) GETEUID.call());
    }

    /** statx(2), whose struct has the same layout on every architecture (linux/stat.h). */
    private static FileStatus statx(int directory, String name, int flags) throws Errno {
        try (var arena = Arena.ofConfined()) {
            var status = arena.allocate(256, 8);
            STATX.call(directory, arena.allocateFrom(name), flags, STATX_BASIC_STATS_AND_BTIME, status);
            return FileStatus.ofStatx(status);
        }
    }

    @SuppressWarnings("restricted") // the one place that links native code
    private static Function function(String name, int firstVariadic, MemoryLayout result, MemoryLayout... parameters) {
        var options = new ArrayList<>(List.of(Linker.Option.captureCallState("errno")));
        if (firstVariadic != NOT_VARIADIC) {
            options.add(Linker.Option.firstVariadicArg(firstVariadic));
        }
        var handle = LINKER.downcallHandle(
                LINKER.defaultLookup().find(name).orElseThrow(() -> new UnsatisfiedLinkError(name)),
                FunctionDescriptor.of(result, parameters),
                options.toArray(Linker.Option[]::new));
        return new Function(name, handle);
    }

    private record Function(String name, MethodHandle handle) {

        /** Calls it, again where a signal interrupted it. */
        long call(Object... arguments) throws Errno {
            while (true) {
                try {
                    return callOnce(arguments);
                } catch (Errno e) {
                    if (!e.is(Errno.EINTR)) {
                        throw e;
                    }
                }
            }
        }

        long callOnce(Object... arguments) throws Errno {
            try (var arena = Arena.ofConfined()) {
                var state = arena.allocate(Linker.Option.captureStateLayout());
                var result = invoke(state, arguments);
                if (result == -1) {
                    throw new Errno(name, (int) ERRNO.get(state, 0L));
                }
                return result;
            }
        }

        private long invoke(MemorySegment state, Object... arguments) {
            var all = new ArrayList<Object>(List.of(state));
            all.addAll(List.of(arguments));
            try {
                return ((Number) handle.invokeWithArguments(all)).longValue();
            } catch (RuntimeException | Error e) {
                throw e;
            } catch (Throwable e) {
                throw new LinkageError(name, e);
            }
        }
    }
}

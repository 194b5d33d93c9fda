package dev.genv.enforcer.linux;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/** Other system calls that Java does not offer: signals through a pidfd, and the clock of start times. */
public final class Libc {
    public static final int SIGKILL = 9;
    public static final int SIGTERM = 15;

    private static final int CLOCK_BOOTTIME = 7;
    private static final int SC_CLK_TCK = 2;
    private static final long SYS_PIDFD_SEND_SIGNAL = 424;
    private static final long SYS_PIDFD_OPEN = 434;
    private static final long NANOS_PER_SECOND = 1_000_000_000L;

    private static final NativeFunction SYSCALL = NativeFunction.returningLong("syscall");
    private static final NativeFunction SYSCONF = NativeFunction.returningLong("sysconf");
    private static final NativeFunction CLOCK_GETTIME = NativeFunction.of("clock_gettime");

    private Libc() {}

    /**
     * Opens a pidfd, which refers to this process even if its pid is reused.
     *
     * @throws Errno ESRCH if there is no such process
     */
    public static int pidfdOpen(int pid) throws Errno {
        try {
            return (int) SYSCALL.call(SYS_PIDFD_OPEN, pid, 0);
        } catch (Errno e) {
            // The number of a thread, or of a process group whose leader has exited: ENOENT since Linux 6.15, EINVAL
            // before.
            throw e.is(Errno.ENOENT) || e.is(Errno.EINVAL) ? new Errno("pidfd_open", Errno.ESRCH) : e;
        }
    }

    public static void pidfdSendSignal(int pidfd, int signal) throws Errno {
        SYSCALL.call(SYS_PIDFD_SEND_SIGNAL, pidfd, signal, 0, 0, 0);
    }

    /** Returns the clock ticks since boot, the unit and clock of a process's start time. */
    public static long ticksSinceBoot() throws Errno {
        try (var arena = Arena.ofConfined()) {
            var time = arena.allocate(JAVA_LONG, 2);
            CLOCK_GETTIME.call(CLOCK_BOOTTIME, time.address());
            var nanos = time.getAtIndex(JAVA_LONG, 0) * NANOS_PER_SECOND + time.getAtIndex(JAVA_LONG, 1);
            return Math.floorDiv(nanos, NANOS_PER_SECOND / SYSCONF.call(SC_CLK_TCK));
        }
    }

    /**
     * A function of the C library whose parameters, at most six, are integers and addresses. All are linked with one signature, because the JVM
     * needs milliseconds for each further one: on x86-64 and AArch64, Linux passes such parameters in registers, variable ones too, and a
     * function does not look at registers of parameters that it does not have. Each call reuses the memory of its thread for {@code errno},
     * because a cycle makes hundreds of calls.
     */
    public static final class NativeFunction {
        private static final Linker LINKER = Linker.nativeLinker();
        private static final MethodHandle CALL = link();
        private static final VarHandle ERRNO =
                Linker.Option.captureStateLayout().varHandle(MemoryLayout.PathElement.groupElement("errno"));

        private static final ThreadLocal<MemorySegment> STATE =
                ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(Linker.Option.captureStateLayout()));

        private final String name;
        private final MemorySegment address;
        private final boolean returnsInt;

        private NativeFunction(String name, boolean returnsInt) {
            this.name = name;
            this.returnsInt = returnsInt;
            address = LINKER.defaultLookup().find(name).orElseThrow(() -> new UnsatisfiedLinkError(name));
        }

        @SuppressWarnings("restricted") // the only place that links native code
        private static MethodHandle link() {
            var signature =
                    FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
            return LINKER.downcallHandle(signature, Linker.Option.captureCallState("errno"));
        }

        /** Finds a function that returns an {@code int}. */
        public static NativeFunction of(String name) {
            return new NativeFunction(name, true);
        }

        /** Finds a function that returns a {@code long}, a {@code ssize_t} or an address. */
        public static NativeFunction returningLong(String name) {
            return new NativeFunction(name, false);
        }

        public static boolean exists(String name) {
            return LINKER.defaultLookup().find(name).isPresent();
        }

        public long call() throws Errno {
            return call(0, 0, 0, 0, 0, 0);
        }

        public long call(long a) throws Errno {
            return call(a, 0, 0, 0, 0, 0);
        }

        public long call(long a, long b) throws Errno {
            return call(a, b, 0, 0, 0, 0);
        }

        public long call(long a, long b, long c) throws Errno {
            return call(a, b, c, 0, 0, 0);
        }

        public long call(long a, long b, long c, long d) throws Errno {
            return call(a, b, c, d, 0, 0);
        }

        /** Calls the function, and again if a signal interrupted it. The caller keeps the memory of the addresses. */
        public long call(long a, long b, long c, long d, long e, long f) throws Errno {
            while (true) {
                try {
                    return callOnce(a, b, c, d, e, f);
                } catch (Errno error) {
                    if (!error.is(Errno.EINTR)) {
                        throw error;
                    }
                }
            }
        }

        long callOnce(long a) throws Errno {
            return callOnce(a, 0, 0, 0, 0, 0);
        }

        /** Fails if the function returns -1. */
        private long callOnce(long a, long b, long c, long d, long e, long f) throws Errno {
            var state = STATE.get();
            long result;
            try {
                result = (long) CALL.invokeExact(address, state, a, b, c, d, e, f);
            } catch (RuntimeException | Error error) {
                throw error;
            } catch (Throwable error) {
                throw new LinkageError(name, error);
            }
            var value = returnsInt ? (int) result : result;
            if (value == -1) {
                throw new Errno(name, (int) ERRNO.get(state, 0L));
            }
            return value;
        }
    }
}

package dev.genv.enforcer.linux;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;

/** Other system calls that Java does not offer: signals through a pidfd, and the clock of start times. */
public final class Libc {
    public static final int SIGKILL = 9;
    public static final int SIGTERM = 15;

    private static final int CLOCK_BOOTTIME = 7;
    private static final int SC_CLK_TCK = 2;
    private static final long SYS_PIDFD_SEND_SIGNAL = 424;
    private static final long SYS_PIDFD_OPEN = 434;
    private static final long NANOS_PER_SECOND = 1_000_000_000L;

    private static final NativeFunction SYSCALL =
            NativeFunction.variadic("syscall", 1, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final NativeFunction SYSCONF = NativeFunction.of("sysconf", JAVA_LONG, JAVA_INT);
    private static final NativeFunction CLOCK_GETTIME = NativeFunction.of("clock_gettime", JAVA_INT, JAVA_INT, ADDRESS);

    private Libc() {}

    /**
     * Opens a pidfd, which refers to this process even if its pid is reused.
     *
     * @throws Errno ESRCH if there is no such process
     */
    public static int pidfdOpen(int pid) throws Errno {
        try {
            return (int) SYSCALL.call(SYS_PIDFD_OPEN, (long) pid, 0L, 0L, 0L);
        } catch (Errno e) {
            // The number of a thread, or of a process group whose leader has exited: ENOENT since Linux 6.15, EINVAL
            // before.
            throw e.is(Errno.ENOENT) || e.is(Errno.EINVAL) ? new Errno("pidfd_open", Errno.ESRCH) : e;
        }
    }

    public static void pidfdSendSignal(int pidfd, int signal) throws Errno {
        SYSCALL.call(SYS_PIDFD_SEND_SIGNAL, (long) pidfd, (long) signal, 0L, 0L);
    }

    /** Returns the clock ticks since boot, the unit and clock of a process's start time. */
    public static long ticksSinceBoot() throws Errno {
        try (var arena = Arena.ofConfined()) {
            var time = arena.allocate(JAVA_LONG, 2);
            CLOCK_GETTIME.call(CLOCK_BOOTTIME, time);
            var nanos = time.getAtIndex(JAVA_LONG, 0) * NANOS_PER_SECOND + time.getAtIndex(JAVA_LONG, 1);
            return Math.floorDiv(nanos, NANOS_PER_SECOND / SYSCONF.call(SC_CLK_TCK));
        }
    }

    /** A function of the C library. Each call reuses the memory of its thread for {@code errno}, because a cycle makes hundreds of calls. */
    public static final class NativeFunction {
        private static final int NOT_VARIADIC = -1;
        private static final Linker LINKER = Linker.nativeLinker();
        private static final VarHandle ERRNO =
                Linker.Option.captureStateLayout().varHandle(MemoryLayout.PathElement.groupElement("errno"));

        private static final ThreadLocal<MemorySegment> STATE =
                ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(Linker.Option.captureStateLayout()));

        private final String name;
        /** Takes the memory for {@code errno} and an array of the arguments. */
        private final MethodHandle handle;

        private NativeFunction(String name, MethodHandle handle) {
            this.name = name;
            this.handle = handle;
        }

        public static NativeFunction of(String name, MemoryLayout result, MemoryLayout... parameters) {
            return variadic(name, NOT_VARIADIC, result, parameters);
        }

        public static boolean exists(String name) {
            return LINKER.defaultLookup().find(name).isPresent();
        }

        /** Links a function with {@code firstVariadic} fixed parameters. */
        @SuppressWarnings("restricted") // the only place that links native code
        public static NativeFunction variadic(
                String name, int firstVariadic, MemoryLayout result, MemoryLayout... parameters) {
            var options = new ArrayList<>(List.of(Linker.Option.captureCallState("errno")));
            if (firstVariadic != NOT_VARIADIC) {
                options.add(Linker.Option.firstVariadicArg(firstVariadic));
            }
            var handle = LINKER.downcallHandle(
                    LINKER.defaultLookup().find(name).orElseThrow(() -> new UnsatisfiedLinkError(name)),
                    FunctionDescriptor.of(result, parameters),
                    options.toArray(Linker.Option[]::new));
            var result64 = handle.asType(handle.type().changeReturnType(long.class));
            return new NativeFunction(name, result64.asSpreader(Object[].class, parameters.length));
        }

        /** Calls the function, and again if a signal interrupted it. */
        public long call(Object... arguments) throws Errno {
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

        /** Fails if the function returns -1. */
        public long callOnce(Object... arguments) throws Errno {
            var state = STATE.get();
            long result;
            try {
                result = (long) handle.invokeExact(state, arguments);
            } catch (RuntimeException | Error e) {
                throw e;
            } catch (Throwable e) {
                throw new LinkageError(name, e);
            }
            if (result == -1) {
                throw new Errno(name, (int) ERRNO.get(state, 0L));
            }
            return result;
        }
    }
}

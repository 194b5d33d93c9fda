package dev.genv.enforcer.testsupport.linux;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.io.Closeable;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;

/** A lock or a lease of the kernel on a file, without any of the service's own code. Closing it releases the lock. */
public final class RealFlock implements Closeable {
    private static final int O_RDWR = 2;
    private static final int O_CREAT = 0100;
    private static final int O_CLOEXEC = 02000000;
    private static final int WORLD_WRITABLE = 0666;
    private static final int LOCK_EX = 2;
    private static final int F_SETSIG = 10;
    private static final int F_SETLEASE = 1024;
    private static final int F_WRLCK = 1;
    /** The signal for a process that holds a lease; unlike the default signal, it terminates no process. */
    private static final int SIGURG = 23;

    private static final Linker.Option VARIADIC = Linker.Option.firstVariadicArg(2);
    private static final MethodHandle OPEN =
            function("open", new Linker.Option[] {VARIADIC}, ADDRESS, JAVA_INT, JAVA_INT);
    private static final MethodHandle FCNTL =
            function("fcntl", new Linker.Option[] {VARIADIC}, JAVA_INT, JAVA_INT, JAVA_INT);
    private static final MethodHandle FLOCK = function("flock", new Linker.Option[0], JAVA_INT, JAVA_INT);
    private static final MethodHandle CLOSE = function("close", new Linker.Option[0], JAVA_INT);

    private final int descriptor;

    private RealFlock(Path file, int flags) throws IOException {
        try (var arena = Arena.ofConfined()) {
            descriptor = call(OPEN, arena.allocateFrom(file.toString()), O_RDWR | O_CLOEXEC | flags, WORLD_WRITABLE);
        }
    }

    /** flock(2), as genv uses it: waits for the lock without a time limit, and creates a missing file. */
    public static RealFlock take(Path file) throws IOException {
        var lock = new RealFlock(file, O_CREAT);
        call(FLOCK, lock.descriptor, LOCK_EX);
        return lock;
    }

    /**
     * A lease on an existing file, which no process has open (fcntl(2), F_SETLEASE): a process that opens the file waits, up to the
     * kernel's limit.
     */
    public static RealFlock takeLease(Path file) throws IOException {
        var lease = new RealFlock(file, 0);
        call(FCNTL, lease.descriptor, F_SETSIG, SIGURG);
        call(FCNTL, lease.descriptor, F_SETLEASE, F_WRLCK);
        return lease;
    }

    private static int call(MethodHandle function, Object... arguments) throws IOException {
        int result;
        try {
            result = (int) function.invokeWithArguments(arguments);
        } catch (Throwable e) {
            throw new LinkageError("a function of the C library", e);
        }
        if (result < 0) {
            throw new IOException("a system call failed: " + function);
        }
        return result;
    }

    /** A function of the C library that returns an int. */
    @SuppressWarnings("restricted") // links native code
    private static MethodHandle function(String name, Linker.Option[] options, MemoryLayout... parameters) {
        var linker = Linker.nativeLinker();
        return linker.downcallHandle(
                linker.defaultLookup().find(name).orElseThrow(() -> new UnsatisfiedLinkError(name)),
                FunctionDescriptor.of(JAVA_INT, parameters),
                options);
    }

    @Override
    public void close() throws IOException {
        call(CLOSE, descriptor);
    }
}

package dev.genv.enforcer.testsupport;

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

/** A lease on a file (fcntl(2), F_SETLEASE): whoever opens it waits, for as long as the kernel lets him. Closing it gives it back. */
public final class RealLease implements Closeable {
    private static final int O_RDWR = 2;
    private static final int O_CLOEXEC = 02000000;
    private static final int F_SETSIG = 10;
    private static final int F_SETLEASE = 1024;
    private static final int F_WRLCK = 1;
    /** What tells that somebody waits; unlike the usual one, it ends nobody. */
    private static final int SIGURG = 23;

    private static final MethodHandle OPEN = function("open", ADDRESS, JAVA_INT);
    private static final MethodHandle FCNTL = function("fcntl", JAVA_INT, JAVA_INT, JAVA_INT);
    private static final MethodHandle CLOSE = function("close", JAVA_INT);

    private final int descriptor;

    private RealLease(int descriptor) {
        this.descriptor = descriptor;
    }

    /** Takes it; the file must be there, and nobody may have it open. */
    public static RealLease take(Path file) throws IOException {
        int descriptor;
        try (var arena = Arena.ofConfined()) {
            descriptor = call("open " + file, OPEN, arena.allocateFrom(file.toString()), O_RDWR | O_CLOEXEC);
        }
        var lease = new RealLease(descriptor);
        try {
            call("F_SETSIG", FCNTL, descriptor, F_SETSIG, SIGURG);
            call("F_SETLEASE " + file, FCNTL, descriptor, F_SETLEASE, F_WRLCK);
            return lease;
        } catch (IOException e) {
            lease.close();
            throw e;
        }
    }

    @Override
    public void close() throws IOException {
        call("close", CLOSE, descriptor);
    }

    private static int call(String what, MethodHandle function, Object... arguments) throws IOException {
        try {
            var result = (int) function.invokeWithArguments(arguments);
            if (result < 0) {
                throw new IOException(what + " failed");
            }
            return result;
        } catch (IOException | RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new LinkageError(what, e);
        }
    }

    @SuppressWarnings("restricted") // links native code
    private static MethodHandle function(String name, MemoryLayout... parameters) {
        var linker = Linker.nativeLinker();
        var options =
                name.equals("close") ? new Linker.Option[0] : new Linker.Option[] {Linker.Option.firstVariadicArg(2)};
        return linker.downcallHandle(
                linker.defaultLookup().find(name).orElseThrow(() -> new UnsatisfiedLinkError(name)),
                FunctionDescriptor.of(JAVA_INT, parameters),
                options);
    }
}

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
import java.util.List;

/** flock(2) on a file, taken as genv takes it and without any of the service's own code. Closing it gives it back. */
public final class RealFlock implements Closeable {
    private static final int O_RDWR = 2;
    private static final int O_CREAT = 0100;
    private static final int O_CLOEXEC = 02000000;
    private static final int EVERYBODYS = 0666;
    private static final int LOCK_EX = 2;

    private static final MethodHandle OPEN =
            function("open", List.of(Linker.Option.firstVariadicArg(2)), ADDRESS, JAVA_INT, JAVA_INT);
    private static final MethodHandle FLOCK = function("flock", List.of(), JAVA_INT, JAVA_INT);
    private static final MethodHandle CLOSE = function("close", List.of(), JAVA_INT);

    private final int descriptor;

    private RealFlock(int descriptor) {
        this.descriptor = descriptor;
    }

    /** Waits for the lock, for as long as that takes; the file is made where there is none. */
    public static RealFlock take(Path file) throws IOException {
        int descriptor;
        try (var arena = Arena.ofConfined()) {
            descriptor = call(
                    "open " + file,
                    OPEN,
                    arena.allocateFrom(file.toString()),
                    O_RDWR | O_CREAT | O_CLOEXEC,
                    EVERYBODYS);
        }
        var lock = new RealFlock(descriptor);
        try {
            call("flock " + file, FLOCK, descriptor, LOCK_EX);
            return lock;
        } catch (IOException e) {
            lock.close();
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
    private static MethodHandle function(String name, List<Linker.Option> options, MemoryLayout... parameters) {
        var linker = Linker.nativeLinker();
        return linker.downcallHandle(
                linker.defaultLookup().find(name).orElseThrow(() -> new UnsatisfiedLinkError(name)),
                FunctionDescriptor.of(JAVA_INT, parameters),
                options.toArray(Linker.Option[]::new));
    }
}

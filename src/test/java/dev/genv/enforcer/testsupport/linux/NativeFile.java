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
import java.util.List;

/** An open file for system calls that Java does not offer, without any of the service's own code. */
final class NativeFile implements Closeable {
    static final int O_CREAT = 0100;
    private static final int O_RDWR = 2;
    private static final int O_CLOEXEC = 02000000;
    private static final int WORLD_WRITABLE = 0666;

    private static final MethodHandle OPEN =
            function("open", List.of(Linker.Option.firstVariadicArg(2)), ADDRESS, JAVA_INT, JAVA_INT);
    private static final MethodHandle CLOSE = function("close", List.of(), JAVA_INT);

    private final int descriptor;

    private NativeFile(int descriptor) {
        this.descriptor = descriptor;
    }

    /** A step with an open file. */
    interface Step {
        void run(int descriptor) throws IOException;
    }

    /** Opens a file for reading and writing, and closes it if the step fails. */
    static NativeFile open(Path file, int flags, Step step) throws IOException {
        int descriptor;
        try (var arena = Arena.ofConfined()) {
            descriptor = call(
                    "open " + file,
                    OPEN,
                    arena.allocateFrom(file.toString()),
                    O_RDWR | O_CLOEXEC | flags,
                    WORLD_WRITABLE);
        }
        var opened = new NativeFile(descriptor);
        try {
            step.run(descriptor);
            return opened;
        } catch (IOException e) {
            opened.close();
            throw e;
        }
    }

    static int call(String what, MethodHandle function, Object... arguments) throws IOException {
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

    /** A function of the C library that returns an int. */
    @SuppressWarnings("restricted") // links native code
    static MethodHandle function(String name, List<Linker.Option> options, MemoryLayout... parameters) {
        var linker = Linker.nativeLinker();
        return linker.downcallHandle(
                linker.defaultLookup().find(name).orElseThrow(() -> new UnsatisfiedLinkError(name)),
                FunctionDescriptor.of(JAVA_INT, parameters),
                options.toArray(Linker.Option[]::new));
    }

    @Override
    public void close() throws IOException {
        call("close", CLOSE, descriptor);
    }
}

package dev.genv.enforcer.files;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** open(2), read(2) and close(2): Java cannot open a file with {@code O_NONBLOCK}. */
final class NativeFile {
    /** The same on x86-64 and aarch64: O_RDONLY, O_NOCTTY, O_NONBLOCK, O_CLOEXEC. */
    private static final int FLAGS = 0400 | 04000 | 02000000;

    private static final int ENOENT = 2;
    private static final int EINTR = 4;
    private static final int EACCES = 13;

    private static final Linker LINKER = Linker.nativeLinker();
    private static final Linker.Option CAPTURE_ERRNO = Linker.Option.captureCallState("errno");
    private static final VarHandle ERRNO =
            Linker.Option.captureStateLayout().varHandle(MemoryLayout.PathElement.groupElement("errno"));
    private static final MethodHandle OPEN =
            function("open", List.of(CAPTURE_ERRNO, Linker.Option.firstVariadicArg(2)), JAVA_INT, ADDRESS, JAVA_INT);
    private static final MethodHandle READ =
            function("read", List.of(CAPTURE_ERRNO), JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG);
    private static final MethodHandle CLOSE = function("close", List.of(CAPTURE_ERRNO), JAVA_INT, JAVA_INT);

    private NativeFile() {}

    /** Opens a file for reading. Waits neither for the writer of a pipe nor for the holder of a lease. */
    static int open(Path path) throws IOException {
        try (var arena = Arena.ofConfined()) {
            return (int) call(path, arena, OPEN, arena.allocateFrom(path.toString()), FLAGS);
        }
    }

    /** Reads to the end of the file, but no more than so many bytes. */
    static byte[] read(Path path, int descriptor, int limit) throws IOException {
        try (var arena = Arena.ofConfined()) {
            var buffer = arena.allocate(limit);
            var filled = 0L;
            for (var count = 1L; count > 0 && filled < limit; filled += count) {
                count = call(path, arena, READ, descriptor, buffer.asSlice(filled), limit - filled);
            }
            return buffer.asSlice(0, filled).toArray(JAVA_BYTE);
        }
    }

    static void close(Path path, int descriptor) throws IOException {
        try (var arena = Arena.ofConfined()) {
            call(path, arena, CLOSE, descriptor);
        }
    }

    private static long call(Path path, Arena arena, MethodHandle function, Object... arguments) throws IOException {
        var state = arena.allocate(Linker.Option.captureStateLayout());
        var all = new ArrayList<Object>(List.of(state));
        all.addAll(List.of(arguments));
        while (true) {
            var result = invoke(function, all);
            if (result >= 0) {
                return result;
            }
            var errno = (int) ERRNO.get(state, 0L);
            if (errno != EINTR) {
                throw failure(path, errno);
            }
            if (function.equals(CLOSE)) {
                return 0; // Linux has closed it all the same.
            }
        }
    }

    private static long invoke(MethodHandle function, List<Object> arguments) {
        try {
            return ((Number) function.invokeWithArguments(arguments)).longValue();
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new LinkageError("a function of the C library", e);
        }
    }

    private static IOException failure(Path path, int errno) {
        return switch (errno) {
            case ENOENT -> new NoSuchFileException(path.toString());
            case EACCES -> new AccessDeniedException(path.toString());
            default -> new FileSystemException(path.toString(), null, "it cannot be read: errno " + errno);
        };
    }

    @SuppressWarnings("restricted") // links native code
    private static MethodHandle function(
            String name, List<Linker.Option> options, MemoryLayout result, MemoryLayout... parameters) {
        MemorySegment address = LINKER.defaultLookup().find(name).orElseThrow(() -> new UnsatisfiedLinkError(name));
        return LINKER.downcallHandle(
                address, FunctionDescriptor.of(result, parameters), options.toArray(Linker.Option[]::new));
    }
}

package dev.genv.enforcer.testsupport.linux;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.io.Closeable;
import java.io.IOException;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.List;

/** A lease on a file (fcntl(2), F_SETLEASE): a process that opens the file waits, up to the kernel's limit. Closing it releases the lease. */
public final class RealLease implements Closeable {
    private static final int F_SETSIG = 10;
    private static final int F_SETLEASE = 1024;
    private static final int F_WRLCK = 1;
    /** The signal for a waiting process; unlike the default signal, it terminates no process. */
    private static final int SIGURG = 23;

    private static final MethodHandle FCNTL =
            NativeFile.function("fcntl", List.of(Linker.Option.firstVariadicArg(2)), JAVA_INT, JAVA_INT, JAVA_INT);

    private final NativeFile file;

    private RealLease(NativeFile file) {
        this.file = file;
    }

    /** Takes the lease of an existing file, which no process has open. */
    public static RealLease take(Path file) throws IOException {
        return new RealLease(NativeFile.open(file, 0, descriptor -> {
            NativeFile.call("F_SETSIG", FCNTL, descriptor, F_SETSIG, SIGURG);
            NativeFile.call("F_SETLEASE " + file, FCNTL, descriptor, F_SETLEASE, F_WRLCK);
        }));
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}

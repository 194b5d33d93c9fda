package dev.genv.enforcer.testsupport.linux;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.io.Closeable;
import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.List;

/** flock(2) on a file, as genv uses it, without any of the service's own code. Closing it releases the lock. */
public final class RealFlock implements Closeable {
    private static final int LOCK_EX = 2;

    private static final MethodHandle FLOCK = NativeFile.function("flock", List.of(), JAVA_INT, JAVA_INT);

    private final NativeFile file;

    private RealFlock(NativeFile file) {
        this.file = file;
    }

    /** Waits for the lock without a time limit, and creates a missing file. */
    public static RealFlock take(Path file) throws IOException {
        return new RealFlock(NativeFile.open(
                file, NativeFile.O_CREAT, descriptor -> NativeFile.call("flock " + file, FLOCK, descriptor, LOCK_EX)));
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}

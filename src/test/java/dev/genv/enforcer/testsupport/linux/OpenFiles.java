package dev.genv.enforcer.testsupport.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The files that processes have open. */
public final class OpenFiles {
    private OpenFiles() {}

    /** Whether a process has a file open; false if it has exited. */
    public static boolean has(ProcessHandle process, Path file) {
        try (var descriptors = Files.list(Path.of("/proc", Long.toString(process.pid()), "fd"))) {
            return descriptors.anyMatch(descriptor -> isSame(descriptor, file));
        } catch (IOException e) {
            return false;
        }
    }

    private static boolean isSame(Path descriptor, Path file) {
        try {
            return Files.isSameFile(descriptor, file);
        } catch (IOException e) {
            return false; // it was closed meanwhile
        }
    }
}

package dev.genv.enforcer.testsupport;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Requirements of tests on the machine. A test with a missing requirement is skipped with the text "needs THIS: HOW TO HAVE IT", which {@link SkippedTests} counts.
 */
public final class Requirements {
    private Requirements() {}

    public static void root() throws IOException {
        require(CurrentProcess.isRoot(), "root", "run the build as root");
    }

    /** Requires root with the capabilities to read and signal the processes of other users. */
    public static void rootWithCapabilities() throws IOException {
        root();
        require(
                CurrentProcess.hasRequiredCapabilities(),
                "root's capabilities",
                "add DAC_READ_SEARCH, KILL and SYS_PTRACE");
    }

    /** Requires a program at this path, of this Debian package. */
    public static void program(String path, String debianPackage) {
        require(Files.isExecutable(Path.of(path)), path, "apt install " + debianPackage);
    }

    /** Requires that a mount(8) succeeds. */
    public static void mounts(boolean done) {
        require(done, "mounts", "add the capability SYS_ADMIN");
    }

    public static void require(boolean present, String what, String how) {
        assumeTrue(present, () -> "needs " + what + ": " + how);
    }
}

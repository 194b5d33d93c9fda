package dev.genv.enforcer.testsupport;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What a test needs of the machine. A test whose requirement is missing is skipped with the words "needs THIS: HOW TO HAVE IT",
 * which {@link SkippedTests} counts.
 */
public final class Requirements {
    private Requirements() {}

    public static void root() throws IOException {
        require(CurrentProcess.isRoot(), "root", "run the build as root");
    }

    /** Root who may read and signal the processes of others. */
    public static void rootWithCapabilities() throws IOException {
        root();
        require(
                CurrentProcess.hasRequiredCapabilities(),
                "root's capabilities",
                "add DAC_READ_SEARCH, KILL and SYS_PTRACE");
    }

    /** A user to whom the kernel refuses something. */
    public static void ordinaryUser() throws IOException {
        require(!CurrentProcess.isRoot(), "an ordinary user", "run the build as one");
    }

    /** A program at that place, of that Debian package. */
    public static void program(String path, String debianPackage) {
        require(Files.isExecutable(Path.of(path)), path, "apt install " + debianPackage);
    }

    /** The result of a mount(8). */
    public static void mounts(boolean done) {
        require(done, "mounts", "add the capability SYS_ADMIN");
    }

    public static void require(boolean present, String what, String how) {
        assumeTrue(present, () -> "needs " + what + ": " + how);
    }
}

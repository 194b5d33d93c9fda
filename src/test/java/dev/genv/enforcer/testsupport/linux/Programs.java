package dev.genv.enforcer.testsupport.linux;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** Runs programs of this machine to their end. */
public final class Programs {
    private Programs() {}

    /** Returns the output of a program, which must be short, and must exit with 0. */
    public static String run(String... command) throws IOException {
        var process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().close();
        var said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        try {
            if (process.waitFor() != 0) {
                throw new IOException(
                        "%s ended with %d: %s".formatted(String.join(" ", command), process.exitValue(), said.strip()));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
        return said;
    }

    /** Creates a key pair without a passphrase, unless it exists. */
    public static void newKey(Path file) throws IOException {
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", file.toString());
    }
}

package dev.genv.enforcer.testsupport;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** Programs of this machine that tests run to their end. */
final class Programs {
    private Programs() {}

    /** What it says, which must not be much; it has to end well. */
    static String run(String... command) throws IOException {
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

    /** A key pair without a passphrase, if there is none yet. */
    static void newKey(Path file) throws IOException {
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", file.toString());
    }
}

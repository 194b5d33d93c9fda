package dev.genv.enforcer.e2e;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A program that runs to its end and must succeed. */
public final class Command {
    private Command() {}

    public static void run(String... command) throws IOException {
        run(List.of(command));
    }

    public static void run(List<String> command) throws IOException {
        var process = new ProcessBuilder(command).inheritIO().start();
        await().until(() -> !process.isAlive());
        if (process.exitValue() != 0) {
            throw new IOException(String.join(" ", command) + " ended with " + process.exitValue());
        }
    }

    /** Writes a file until no space is left on its disk. */
    public static void fillDisk(Path filler) throws IOException {
        try (var file = Files.newOutputStream(filler)) {
            while (true) {
                file.write(new byte[4096]);
            }
        } catch (IOException e) {
            if (!Files.exists(filler)) {
                throw e;
            }
        }
    }

    /** Returns the command that runs a shell script as a user in a directory. */
    public static List<String> asUser(int uid, Path directory, String script) {
        return List.of(
                "setpriv",
                "--reuid=" + uid,
                "--regid=" + uid,
                "--clear-groups",
                "sh",
                "-c",
                "cd %s && %s".formatted(directory, script));
    }
}

package dev.genv.enforcer.e2e;

import static org.awaitility.Awaitility.await;

import java.io.IOException;

/** A program that is run to its end and must do what it is for. */
public final class Command {
    private Command() {}

    public static void run(String... command) throws IOException {
        var process = new ProcessBuilder(command).inheritIO().start();
        await().until(() -> !process.isAlive());
        if (process.exitValue() != 0) {
            throw new IOException(String.join(" ", command) + " ended with " + process.exitValue());
        }
    }
}

package dev.genv.enforcer.testsupport.linux;

import java.io.IOException;
import java.nio.file.Path;

/** A named pipe, which Java cannot create. */
public final class Fifo {
    private Fifo() {}

    public static Path at(Path path) throws IOException, InterruptedException {
        var exitCode = new ProcessBuilder("mkfifo", path.toString())
                .inheritIO()
                .start()
                .waitFor();
        if (exitCode != 0) {
            throw new IOException("mkfifo " + path + " ended with " + exitCode);
        }
        return path;
    }
}

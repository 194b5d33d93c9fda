package dev.genv.enforcer.testsupport.linux;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;

/** Runs commands of the shell in a folder. */
public final class Shell {
    private Shell() {}

    public static void run(Path folder, String commands) throws IOException, InterruptedException {
        var shell = new ProcessBuilder("sh", "-c", commands)
                .directory(folder.toFile())
                .inheritIO();
        assertThat(shell.start().waitFor()).as(commands).isZero();
    }
}

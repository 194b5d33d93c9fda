package dev.genv.enforcer.testsupport.linux;

import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A program in C, for what neither Java nor the usual programs do. */
public final class CProgram {
    private static final String COMPILER = "/usr/bin/gcc";

    private CProgram() {}

    /** Compiles a program. Skips the test if there is no compiler. */
    public static Path compile(Path program, String source) throws IOException {
        Requirements.program(COMPILER, "gcc libc6-dev");
        var file = Files.writeString(program.resolveSibling(program.getFileName() + ".c"), source);
        if (exitCode(COMPILER, "-O1", "-pthread", "-o", program.toString(), file.toString()) != 0) {
            throw new IOException(file + " is not compiled");
        }
        return program;
    }

    /** Runs a program to its end, and returns its exit code. */
    public static int exitCode(String... command) throws IOException {
        try {
            return new ProcessBuilder(command).inheritIO().start().waitFor();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }
}

package dev.genv.enforcer.testsupport.linux;

import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;

/** Runs programs of this machine to their end. */
public final class Programs {
    private Programs() {}

    /** Returns the output of a program, which must be short, and must exit with 0. */
    public static String run(String... command) throws IOException {
        return run(List.of(command));
    }

    /** The same. */
    public static String run(List<String> command) throws IOException {
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

    /** Installs or replaces a script at once, so that no process executes a part of it. */
    public static void install(Path program, String script) throws IOException {
        var draft = Files.writeString(program.resolveSibling("new." + program.getFileName()), script);
        Files.setPosixFilePermissions(draft, PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.move(draft, program, StandardCopyOption.ATOMIC_MOVE);
    }

    /** Creates a key pair of this kind without a passphrase. */
    public static void newKey(String kind, Path file) throws IOException {
        run("ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "test", "-f", file.toString());
    }

    /** Compiles a program in C, for what neither Java nor the usual programs do. Skips the test if there is no compiler. */
    public static Path compile(Path program, String source) throws IOException {
        Requirements.program("/usr/bin/gcc", "gcc libc6-dev");
        var file = Files.writeString(program.resolveSibling(program.getFileName() + ".c"), source);
        run("/usr/bin/gcc", "-O1", "-pthread", "-o", program.toString(), file.toString());
        return program;
    }

    /** Returns the command that runs another one as a user; only root can do that. */
    public static List<String> asUser(long uid, String... command) {
        var all = new ArrayList<>(List.of("setpriv", "--reuid=" + uid, "--regid=" + uid, "--clear-groups"));
        all.addAll(List.of(command));
        return all;
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

    /** Runs commands of the shell in a folder. */
    public static void shell(Path folder, String commands) throws IOException {
        run("sh", "-c", "cd \"$0\" && " + commands, folder.toString());
    }

    /** Makes a named pipe, which Java cannot create. */
    public static Path fifo(Path path) throws IOException {
        run("mkfifo", path.toString());
        return path;
    }
}

package dev.genv.enforcer.testsupport.linux;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/** A real pseudoterminal, on which a shell of a user runs; script(1) is its other end, and writes what it reads to a file. */
public final class UserTerminal implements AutoCloseable {
    private static final int FIRST_UID = 1_000_000_000;
    private static final int UIDS_OF_A_PROCESS = 100;
    private static final AtomicInteger USED = new AtomicInteger();

    private final Path folder;
    private final Child script;
    private final Path output;
    private final Path numberFile;

    private UserTerminal(Path folder, Child script, Path output, Path numberFile) {
        this.folder = folder;
        this.script = script;
        this.output = output;
        this.numberFile = numberFile;
    }

    /** Returns a uid that no other process has, so that tests that run at the same time do not see each other's terminals. */
    public static int newUid() {
        return FIRST_UID + (int) ProcessHandle.current().pid() * UIDS_OF_A_PROCESS + USED.getAndIncrement();
    }

    /** Opens a terminal that accepts messages; only root can do that for another user. */
    public static UserTerminal accepting(long uid) throws IOException {
        return open(uid, "chmod 620", "sleep 3600", "cat >\"$1\"");
    }

    /** Opens a terminal whose user has run {@code mesg n}. */
    public static UserTerminal refusing(long uid) throws IOException {
        return open(uid, "chmod 600", "sleep 3600", "cat >\"$1\"");
    }

    /** Opens a terminal that is full, because no program reads it. */
    public static UserTerminal unread(long uid) throws IOException {
        return open(uid, "chmod 620", "exec yes", "exec sleep 3600");
    }

    private static UserTerminal open(long uid, String mode, String work, String reader) throws IOException {
        // The folder of a test is usually below one that only root can enter.
        var folder = Files.createTempDirectory("terminal");
        var output = folder.resolve("terminal-output");
        var number = folder.resolve("terminal-number");
        Files.setAttribute(folder, "unix:mode", 0777);
        var inside = "%s $(tty); tty >'%s.new'; mv '%s.new' '%s'; %s".formatted(mode, number, number, number, work);
        var command = "setpriv --reuid=%d --regid=%d --clear-groups script -qfec \"$0\" /dev/null </dev/null | { %s; }"
                .formatted(uid, uid, reader);
        var child = Child.running(
                List.of("/bin/sh", "-c", command, inside, output.toString()), Map.of("PATH", System.getenv("PATH")));
        var terminal = new UserTerminal(folder, child, output, number);
        try {
            await().until(() -> Files.exists(number));
            return terminal;
        } catch (RuntimeException e) {
            terminal.close();
            throw e;
        }
    }

    /** The number of the terminal. */
    public int number() throws IOException {
        return Integer.parseInt(Files.readString(numberFile).strip().replace("/dev/pts/", ""));
    }

    /** Returns what the user sees. */
    public String screen() throws IOException {
        return Files.exists(output) ? Files.readString(output, StandardCharsets.UTF_8) : "";
    }

    @Override
    public void close() throws IOException {
        script.closeWithDescendants();
        Files.deleteIfExists(output);
        Files.deleteIfExists(numberFile);
        Files.delete(folder);
    }
}

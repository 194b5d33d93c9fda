package dev.genv.enforcer.testsupport.linux;

import static org.awaitility.Awaitility.await;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * A real process that does nothing, and that the test ends. Where the driver has its device files, it has one of them open, without which
 * no listed process is terminated.
 */
public final class Child implements TestProcess {
    private static final File CONTROL_DEVICE = new File("/dev/nvidiactl");
    private static final boolean HAS_DRIVER = canOpenControlDevice();

    private final Process process;

    private Child(Process process) {
        this.process = process;
    }

    /** Starts a {@code sleep} with exactly these variables. */
    public static Child withEnvironment(Map<String, String> variables) throws IOException {
        return start(List.of("sleep", "3600"), variables);
    }

    /** Starts a {@code sleep} that names this environment of genv. */
    public static Child inEnvironment(String eid) throws IOException {
        return withEnvironment(Map.of("GENV_ENVIRONMENT_ID", eid));
    }

    /** Starts a {@code sleep} of another user; only root can do that. */
    public static Child ofUser(long uid) throws IOException {
        return ofUser(uid, Map.of());
    }

    /** The same, with exactly these variables. */
    public static Child ofUser(long uid, Map<String, String> variables) throws IOException {
        return ofUser(uid, Path.of("sleep"), variables);
    }

    /** The same with another program, which must accept the argument {@code 7200}. */
    public static Child ofUser(long uid, Path program, Map<String, String> variables) throws IOException {
        var child = start(Programs.asUser(uid, program.toString(), "7200"), variables);
        await().until(() -> child.command().equals(program.getFileName().toString()));
        return child;
    }

    /** Starts any program with exactly these variables. */
    public static Child running(List<String> command, Map<String, String> variables) throws IOException {
        return start(command, variables);
    }

    @Override
    public int pid() {
        return (int) process.pid();
    }

    @Override
    public boolean isAlive() {
        return process.isAlive();
    }

    /** Waits for the exit, and returns the exit code as a shell does: 143 after a SIGTERM. */
    public int awaitExit() {
        await().until(() -> !process.isAlive());
        return process.exitValue();
    }

    /** Returns the short name of its present program. */
    public String command() throws IOException {
        return Files.readString(file("comm")).strip();
    }

    /** Returns its start time in clock ticks since boot. */
    public long startTime() throws IOException {
        var stat = Files.readString(file("stat"));
        return Long.parseLong(stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1)[22 - 3]);
    }

    /** Kills it and its descendants. */
    public void closeWithDescendants() {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        close();
    }

    @Override
    public void close() {
        process.destroyForcibly();
        await().until(() -> !process.isAlive());
    }

    private Path file(String name) {
        return Path.of("/proc", Long.toString(process.pid()), name);
    }

    private static boolean canOpenControlDevice() {
        try (var device = new FileInputStream(CONTROL_DEVICE)) {
            return device.getFD().valid();
        } catch (IOException e) {
            return false; // also if the driver is not loaded
        }
    }

    private static Child start(List<String> command, Map<String, String> variables) throws IOException {
        var builder = new ProcessBuilder(command);
        builder.environment().clear();
        builder.environment().putAll(variables);
        if (HAS_DRIVER) {
            builder.redirectInput(CONTROL_DEVICE);
        }
        return new Child(builder.start());
    }
}

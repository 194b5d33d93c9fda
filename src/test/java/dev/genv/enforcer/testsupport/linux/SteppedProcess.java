package dev.genv.enforcer.testsupport.linux;

import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A real process that is made by steps, such as a fork or a new session, together with the processes that the steps leave behind. The
 * program {@code steps.py} describes the steps.
 */
public final class SteppedProcess implements TestProcess {
    private static final Path PROGRAM = Path.of("src/test/resources/membership/steps.py");
    private static final String PYTHON = "/usr/bin/python3";
    private static final Path TITLE_MODULE = Path.of("/usr/lib/python3/dist-packages/setproctitle");

    private final Process first;
    private final Path result;
    private List<ProcessHandle> made;

    private SteppedProcess(Process first, Path result) throws IOException {
        this.first = first;
        this.result = result;
        made = awaitProcesses(result);
    }

    /** Skips the test if Python lacks the module with which programs change their titles. */
    public static void requireTitles() {
        Requirements.require(Files.exists(TITLE_MODULE), "Python's setproctitle", "apt install python3-setproctitle");
    }

    /** Makes a process of the present user. */
    public static SteppedProcess start(Path folder, Map<String, String> variables, String... steps) throws IOException {
        return start(folder, List.of(), variables, steps);
    }

    /** Makes a process of another user; only root can do that. */
    public static SteppedProcess ofUser(long uid, Path folder, Map<String, String> variables, String... steps)
            throws IOException {
        return start(folder, Programs.asUser(uid), variables, steps);
    }

    /**
     * Makes a process.
     *
     * @param folder its user can write to it
     * @param launcher executes the program
     * @param variables exactly those of the first process
     */
    private static SteppedProcess start(
            Path folder, List<String> launcher, Map<String, String> variables, String... steps) throws IOException {
        Requirements.program(PYTHON, "python3");
        var result = folder.resolve("steps-" + System.nanoTime());
        var command = new ArrayList<>(launcher);
        command.addAll(List.of(PYTHON, "-I", "-c", Files.readString(PROGRAM), result.toString()));
        command.addAll(Arrays.asList(steps));
        var builder = new ProcessBuilder(command).inheritIO();
        builder.environment().clear();
        builder.environment().putAll(variables);
        var first = builder.start();
        return new SteppedProcess(first, result);
    }

    private static List<ProcessHandle> awaitProcesses(Path result) throws IOException {
        await().until(() -> Files.exists(result));
        return Arrays.stream(Files.readString(result).split(" ", -1))
                .map(Long::valueOf)
                .map(ProcessHandle::of)
                .flatMap(Optional::stream)
                .toList();
    }

    /** Lets it perform the steps after {@code pause}. */
    public void resume() throws IOException {
        Files.createFile(result.resolveSibling(result.getFileName() + ".go"));
        made = awaitProcesses(result.resolveSibling(result.getFileName() + ".end"));
    }

    /** The process that performed the last step. */
    @Override
    public int pid() {
        return (int) made.getFirst().pid();
    }

    /** Returns the pid of a process that was left behind; 0 is the first one. */
    public int leftBehind(int index) {
        return (int) made.get(index + 1).pid();
    }

    @Override
    public boolean isAlive() {
        return isRunning(made.getFirst());
    }

    @Override
    public void close() {
        made.forEach(SteppedProcess::kill);
        first.destroyForcibly();
    }

    private static void kill(ProcessHandle process) {
        process.destroyForcibly();
        await().until(() -> !isRunning(process));
    }

    /** A handle regards a zombie as alive. */
    private static boolean isRunning(ProcessHandle process) {
        try {
            var stat = Files.readString(Path.of("/proc", Long.toString(process.pid()), "stat"));
            return process.isAlive() && !stat.substring(stat.lastIndexOf(')')).startsWith(") Z");
        } catch (IOException e) {
            return false; // it has exited
        }
    }
}

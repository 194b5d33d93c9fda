package dev.genv.enforcer.testsupport.linux;

import static org.awaitility.Awaitility.await;

import java.io.Closeable;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The processes of a mount namespace, also those whose parents exited. */
public final class MountNamespace implements Closeable {
    private static final Path NO_NAMESPACE = Path.of("");

    private final Path name;
    /** The open file prevents that the kernel reuses the namespace's inode. */
    private final Closeable hold;

    private MountNamespace(Path name, Closeable hold) {
        this.name = name;
        this.hold = hold;
    }

    /** Returns the namespace of a process, which must not be the tests' own. */
    public static MountNamespace of(long pid) throws IOException {
        var process = ProcessHandle.of(pid).orElseThrow(() -> new IOException(pid + " is gone"));
        var hold = new FileInputStream(file(process).toFile());
        var name = nameOf(process);
        if (name.equals(nameOf(ProcessHandle.current())) || name.equals(NO_NAMESPACE)) {
            hold.close();
            throw new IOException("Process %d has no mount namespace of its own".formatted(pid));
        }
        return new MountNamespace(name, hold);
    }

    public List<ProcessHandle> processes() {
        return ProcessHandle.allProcesses()
                .filter(process -> name.equals(nameOf(process)))
                .toList();
    }

    /** Returns the processes with this program, by its short name. */
    public List<ProcessHandle> processes(String command) {
        return processes().stream()
                .filter(process -> commandOf(process).equals(command))
                .toList();
    }

    /** Kills all processes. */
    @Override
    public void close() throws IOException {
        await().until(() -> {
            processes().forEach(ProcessHandle::destroyForcibly);
            return processes().isEmpty();
        });
        hold.close();
    }

    public static void signal(String signal, List<ProcessHandle> processes) throws IOException {
        if (!processes.isEmpty()) {
            var command = new ArrayList<>(List.of("sh", "-c", "kill -%s \"$@\" || :".formatted(signal), "kill"));
            processes.forEach(process -> command.add(Long.toString(process.pid())));
            Programs.run(command.toArray(String[]::new));
        }
    }

    private static Path file(ProcessHandle process) {
        return Path.of("/proc", Long.toString(process.pid()), "ns", "mnt");
    }

    private static Path nameOf(ProcessHandle process) {
        try {
            return Files.readSymbolicLink(file(process));
        } catch (IOException e) { // it has ended
            return NO_NAMESPACE;
        }
    }

    private static String commandOf(ProcessHandle process) {
        try {
            return Files.readString(Path.of("/proc", Long.toString(process.pid()), "comm"))
                    .strip();
        } catch (IOException e) { // it has ended
            return "";
        }
    }
}

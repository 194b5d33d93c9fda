package dev.genv.enforcer.testsupport;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The processes that have a mount namespace in common, also those whose parents have died. */
final class MountNamespace {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private final Path name;

    private MountNamespace(Path name) {
        this.name = name;
    }

    /** That of a process, which must not be the one that the tests run in. */
    static MountNamespace of(long pid) throws IOException {
        var name = nameOf(ProcessHandle.of(pid).orElseThrow(() -> new IOException(pid + " is gone")));
        if (name == null || name.equals(nameOf(ProcessHandle.current()))) {
            throw new IOException("Process %d has no mount namespace of its own".formatted(pid));
        }
        return new MountNamespace(name);
    }

    List<ProcessHandle> processes() {
        return ProcessHandle.allProcesses()
                .filter(process -> name.equals(nameOf(process)))
                .toList();
    }

    /** Those that run this program, by its short name. */
    List<ProcessHandle> processes(String command) {
        return processes().stream()
                .filter(process -> commandOf(process).equals(command))
                .toList();
    }

    /** Ends all of them on the spot. */
    void kill() {
        await().atMost(PATIENCE).until(() -> {
            processes().forEach(ProcessHandle::destroyForcibly);
            return processes().isEmpty();
        });
    }

    static void signal(String signal, List<ProcessHandle> processes) throws IOException {
        if (!processes.isEmpty()) {
            var command = new ArrayList<>(List.of("sh", "-c", "kill -%s \"$@\" || :".formatted(signal), "kill"));
            processes.forEach(process -> command.add(Long.toString(process.pid())));
            Programs.run(command.toArray(String[]::new));
        }
    }

    private static Path nameOf(ProcessHandle process) {
        try {
            return Files.readSymbolicLink(Path.of("/proc", Long.toString(process.pid()), "ns", "mnt"));
        } catch (IOException e) { // it has ended
            return Path.of("");
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

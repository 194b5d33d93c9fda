package dev.genv.enforcer.testsupport.fake;

import static java.nio.file.StandardOpenOption.APPEND;
import static java.nio.file.StandardOpenOption.CREATE;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.function.Predicate;

/** The demo's fake nvidia-smi in a separate folder. It lists only running processes. */
public final class FakeNvidiaSmi {
    private static final Path SCRIPT = Path.of("docker/demo/nvidia-smi");
    private final Path program;

    /** Creates it in a folder. Without {@link #gpus} it lists no GPU. */
    public FakeNvidiaSmi(Path folder) throws IOException {
        program = folder.resolve("nvidia-smi");
        Files.createDirectories(folder);
        Files.copy(SCRIPT, program, StandardCopyOption.REPLACE_EXISTING);
        for (var file : new Path[] {folder, program}) {
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
        }
    }

    public Path path() {
        return program;
    }

    public static String uuid(int index) {
        return "GPU-fa4e0000-0000-4000-8000-%012d".formatted(index);
    }

    /** Sets the number of GPUs. */
    public FakeNvidiaSmi gpus(int count) throws IOException {
        var lines = new StringBuilder();
        for (var index = 0; index < count; index++) {
            lines.append("%d, %s, 0\n".formatted(index, uuid(index)));
        }
        return gpuLines(lines.toString());
    }

    /** Replaces the lines of GPUs at once. */
    public FakeNvidiaSmi gpuLines(String lines) throws IOException {
        var finished = Files.writeString(file("gpus.new"), lines);
        Files.move(finished, file("gpus"), StandardCopyOption.ATOMIC_MOVE);
        return this;
    }

    /** Sets what is measured on each GPU: lines of index, used and total memory in MiB, temperature, and utilization in percent. */
    public FakeNvidiaSmi status(String lines) throws IOException {
        Files.writeString(file("status"), lines);
        return this;
    }

    /** Adds a process.
     *
     * @param memory in MiB, or any other text for this field
     */
    public FakeNvidiaSmi process(int gpu, long pid, String memory) throws IOException {
        return process(uuid(gpu), Long.toString(pid), memory + startTime(pid));
    }

    /** Removes a process, so that a later process with its pid is not listed in its place. */
    private static String startTime(long pid) throws IOException {
        var file = Path.of("/proc", Long.toString(pid), "stat");
        if (!Files.exists(file)) {
            return "";
        }
        var stat = Files.readString(file);
        return ", " + stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1)[22 - 3];
    }

    public FakeNvidiaSmi process(String uuid, String pid, String memory) throws IOException {
        Files.writeString(file("processes"), "%s, %s, %s\n".formatted(uuid, pid, memory), CREATE, APPEND);
        return this;
    }

    /** Removes all other lines of processes at once. */
    public FakeNvidiaSmi retain(Predicate<String> lines) throws IOException {
        var kept = Files.readAllLines(file("processes")).stream().filter(lines).toList();
        var finished = Files.write(file("processes.new"), kept);
        Files.move(finished, file("processes"), StandardCopyOption.ATOMIC_MOVE);
        return this;
    }

    public FakeNvidiaSmi noProcesses() throws IOException {
        Files.deleteIfExists(file("processes"));
        return this;
    }

    /** Sets a shell line that runs first at every call; the query is in {@code $1}. */
    public FakeNvidiaSmi fault(String shell) throws IOException {
        Files.writeString(file("fault"), shell + "\n");
        return this;
    }

    public FakeNvidiaSmi noFault() throws IOException {
        Files.deleteIfExists(file("fault"));
        return this;
    }

    private Path file(String suffix) {
        return program.resolveSibling("nvidia-smi." + suffix);
    }
}

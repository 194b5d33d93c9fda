package dev.genv.enforcer.testsupport;

import static java.nio.file.StandardOpenOption.APPEND;
import static java.nio.file.StandardOpenOption.CREATE;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.function.Predicate;

/** The demo's fake nvidia-smi, in a folder of its own. Like the real one, it lists only processes that run. */
public final class FakeNvidiaSmi {
    private static final Path SCRIPT = Path.of("docker/demo/nvidia-smi");
    private final Path program;

    /** Puts it into that folder, which is made if need be. Without {@link #gpus} it finds none. */
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

    /** So many GPUs, from index 0. */
    public FakeNvidiaSmi gpus(int count) throws IOException {
        var lines = new StringBuilder();
        for (var index = 0; index < count; index++) {
            lines.append("%d, %s, 16384\n".formatted(index, uuid(index)));
        }
        return gpuLines(lines.toString());
    }

    /** The very lines that it answers when it is asked for the GPUs; the tool sees all of the change or none. */
    public FakeNvidiaSmi gpuLines(String lines) throws IOException {
        var finished = Files.writeString(file("gpus.new"), lines);
        Files.move(finished, file("gpus"), StandardCopyOption.ATOMIC_MOVE);
        return this;
    }

    /**
     * One more process.
     *
     * @param memory in MiB, or any text that stands in this field
     */
    public FakeNvidiaSmi process(int gpu, long pid, String memory) throws IOException {
        return process(uuid(gpu), Long.toString(pid), memory + startTime(pid));
    }

    /** So that the next process with this pid is not listed in its place; nothing of one that is not there. */
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

    /** Keeps only those of the listed processes whose line satisfies that; the tool sees all of the change or none. */
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

    /** A shell line that is run first at every call; the query is in {@code $1}. */
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

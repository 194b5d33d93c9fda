package dev.genv.enforcer.testsupport.fake;

import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * A library in a separate folder that behaves like NVML. A file beside it says what it does, in the lines that src/test/c/nvml/nvml.c
 * describes. It lists also processes that do not run. Its GPUs are those of {@link FakeNvidiaSmi}.
 */
public final class FakeNvml {
    private static final Path SOURCE = Path.of("src/test/c/nvml/nvml.c");
    private static final String GCC = "/usr/bin/gcc";
    /** What was compiled in this JVM, by the options. */
    private static final Map<List<String>, Path> COMPILED = new ConcurrentHashMap<>();

    private final Path library;
    private final List<String> lines = new ArrayList<>();

    /**
     * Creates it in a folder, without GPUs. Skips the test if there is no compiler.
     *
     * @param without functions that it lacks, such as {@code V3}
     */
    public FakeNvml(Path folder, String... without) throws IOException {
        Requirements.program(GCC, "gcc libc6-dev");
        var options = Stream.of(without).map(name -> "-DWITHOUT_" + name).toList();
        library = folder.resolve("libnvidia-ml.so.1");
        Files.createDirectories(folder);
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.copy(compiled(options), library, StandardCopyOption.REPLACE_EXISTING);
        write();
    }

    private static Path compiled(List<String> options) throws IOException {
        var known = COMPILED.get(options);
        if (known != null && Files.exists(known)) {
            return known;
        }
        var output = Files.createTempFile("fake-nvml", ".so");
        output.toFile().deleteOnExit();
        var command = new ArrayList<>(List.of(GCC, "-O2", "-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1"));
        command.addAll(options);
        command.addAll(List.of("-o", output.toString(), SOURCE.toString()));
        Programs.run(command.toArray(String[]::new));
        COMPILED.put(options, output);
        return output;
    }

    public Path path() {
        return library;
    }

    /** Sets the number of GPUs, with the UUIDs and the memory of {@link FakeNvidiaSmi#gpus}. */
    public FakeNvml gpus(int count) throws IOException {
        retain(line -> !line.startsWith("device "));
        for (var index = 0; index < count; index++) {
            lines.add("device %d %s %d %d 0".formatted(index, FakeNvidiaSmi.uuid(index), index, 16384L << 20));
        }
        return write();
    }

    /**
     * Adds a process with a compute context.
     *
     * @param memory in bytes; -1 if the driver does not report it
     */
    public FakeNvml process(int gpu, long pid, long memory) throws IOException {
        return line("process %d c %d %d".formatted(gpu, pid, memory));
    }

    /** Makes a function fail. */
    public FakeNvml fail(String function, int code) throws IOException {
        return line("fail %s %d".formatted(function, code));
    }

    /** Makes a function fail for one GPU. */
    public FakeNvml fail(String function, int code, int gpu) throws IOException {
        return line("fail %s %d %d".formatted(function, code, gpu));
    }

    /** Makes a function wait until the file exists. */
    public FakeNvml hang(String function, Path file) throws IOException {
        return line("hang %s %s".formatted(function, file));
    }

    public FakeNvml line(String line) throws IOException {
        lines.add(line);
        return write();
    }

    /** Removes all other lines at once. */
    public FakeNvml retain(Predicate<String> kept) throws IOException {
        lines.removeIf(kept.negate());
        return write();
    }

    /** Begins to record the functions that are called. */
    public FakeNvml recordCalls() throws IOException {
        Files.writeString(calls(), "");
        return this;
    }

    /** Returns the functions that were called since the recording began, in their order. */
    public List<String> recordedCalls() throws IOException {
        return Files.readAllLines(calls());
    }

    private Path calls() {
        return library.resolveSibling("nvml.calls");
    }

    private FakeNvml write() throws IOException {
        var finished = Files.write(library.resolveSibling("nvml.new"), lines);
        Files.move(finished, library.resolveSibling("nvml.txt"), StandardCopyOption.ATOMIC_MOVE);
        return this;
    }
}

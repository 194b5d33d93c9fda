package dev.genv.enforcer.node.protection;

import dev.genv.enforcer.files.RegularFile;
import dev.genv.enforcer.node.files.FileTree;
import dev.genv.enforcer.node.proc.ProcFs;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A file in the host's {@code /etc}, or in the service's own if the host's cannot be read. It is parsed again after a change. */
final class EtcFile<T> {
    private static final int LARGEST = 4 << 20;

    private final ProcFs proc;
    private final Path path;
    private final Function<String, T> parser;
    private RegularFile.@Nullable Status lastStatus;
    private T latest;

    /**
     * Creates a file that is not yet read.
     *
     * @param absent its content until it is read
     */
    EtcFile(ProcFs proc, Path path, Function<String, T> parser, T absent) {
        this.proc = proc;
        this.path = path;
        this.parser = parser;
        latest = absent;
    }

    /** Returns its present content. */
    T read() throws IOException {
        try {
            return read(proc.machine().hostFiles());
        } catch (IOException e) {
            return read(new FileTree(Path.of("/")));
        }
    }

    /** Returns its content at the last read. */
    T latest() {
        return latest;
    }

    private T read(FileTree files) throws IOException {
        try (var file = RegularFile.open(files.follow(path, FileTree.Inspection.NONE))) {
            if (!file.status().equals(lastStatus)) {
                latest = parser.apply(new String(file.read(LARGEST), StandardCharsets.UTF_8));
                lastStatus = file.status();
            }
        }
        return latest;
    }
}

package dev.genv.enforcer.node;

import dev.genv.enforcer.files.RegularFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A file in the host's {@code /etc}, or our own where the host's cannot be read. It is parsed again when it has changed. */
final class EtcFile<T> {
    private static final int LARGEST = 4 << 20;

    private final ProcFs proc;
    private final Path path;
    private final Function<String, T> parser;
    private RegularFile.@Nullable Status seen;
    private T latest;

    /**
     * Not yet read.
     *
     * @param absent its content as long as it was never read
     */
    EtcFile(ProcFs proc, Path path, Function<String, T> parser, T absent) {
        this.proc = proc;
        this.path = path;
        this.parser = parser;
        latest = absent;
    }

    /** Its content as it is now. */
    T read() throws IOException {
        try {
            return read(proc.machine().hostFiles());
        } catch (IOException e) {
            return read(new FileTree(Path.of("/")));
        }
    }

    /** What it was when it was last read. */
    T latest() {
        return latest;
    }

    private T read(FileTree files) throws IOException {
        try (var file = RegularFile.open(files.follow(path, FileTree.Inspection.NONE))) {
            if (!file.status().equals(seen)) {
                latest = parser.apply(new String(file.read(LARGEST), StandardCharsets.UTF_8));
                seen = file.status();
            }
        }
        return latest;
    }
}

package dev.genv.enforcer.node;

import dev.genv.enforcer.format.PasswdFile;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Problem;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** The accounts of the machine, from the host's passwd(5), or from our own where that cannot be read. */
final class Passwd {
    private static final Path FILE = Path.of("/etc/passwd");
    private static final int LARGEST = 4 << 20;

    private final ProcFs proc;
    private Map<String, Object> version = Map.of();
    private Accounts accounts = Accounts.NONE;

    Passwd(ProcFs proc) {
        this.proc = proc;
    }

    /** The accounts as they are now; those of the last time, and a problem, where they cannot be read. */
    Accounts read(List<Problem> problems) {
        try {
            update(proc.machine().hostFiles());
        } catch (IOException first) {
            try {
                update(new FileTree(Path.of("/")));
            } catch (IOException e) {
                problems.add(new Problem(
                        "passwd_unreadable",
                        "which users this host has cannot be read from %s: %s".formatted(FILE, e)));
            }
        }
        return accounts;
    }

    private void update(FileTree files) throws IOException {
        var file = files.follow(FILE, FileTree.Inspection.NONE);
        if (!Files.isRegularFile(file)) {
            throw new IOException("not a file");
        }
        var found = Files.readAttributes(file, "unix:dev,ino,size,lastModifiedTime");
        if (found.equals(version)) {
            return;
        }
        try (var stream = Files.newInputStream(file)) {
            var bytes = stream.readNBytes(LARGEST + 1);
            if (bytes.length > LARGEST) {
                throw new IOException("longer than %d bytes".formatted(LARGEST));
            }
            accounts = PasswdFile.parse(new String(bytes, StandardCharsets.UTF_8));
            version = found;
        }
    }
}

package dev.genv.enforcer.node;

import dev.genv.enforcer.files.RegularFile;
import dev.genv.enforcer.format.PasswdFile;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Problem;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The accounts of the machine, from the host's passwd(5), or from our own where that cannot be read. */
final class Passwd {
    private static final Path FILE = Path.of("/etc/passwd");
    private static final int LARGEST = 4 << 20;

    private final ProcFs proc;
    private RegularFile.@Nullable Status seen;
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
        try (var file = RegularFile.open(files.follow(FILE, FileTree.Inspection.NONE))) {
            if (!file.status().equals(seen)) {
                accounts = PasswdFile.parse(new String(file.read(LARGEST), StandardCharsets.UTF_8));
                seen = file.status();
            }
        }
    }
}

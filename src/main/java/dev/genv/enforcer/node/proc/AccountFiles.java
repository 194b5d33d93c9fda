package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.host.AccountFacts;
import dev.genv.enforcer.host.AccountFacts.TextFile;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileTree;
import dev.genv.enforcer.linux.WatchedFile;
import dev.genv.enforcer.model.Sha256;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** Reads the files of the accounts in the host's {@code /etc}, or in the service's own if the host's root directory is out of reach. */
public final class AccountFiles {
    private static final int LARGEST = 4 << 20;

    private final WatchedFile<TextFile> passwd;
    private final WatchedFile<TextFile> subuid;

    public AccountFiles(ProcFs proc) {
        passwd = file(proc, "/etc/passwd");
        subuid = file(proc, "/etc/subuid");
    }

    /** Returns passwd(5) and subuid(5). */
    public AccountFacts read() {
        return new AccountFacts(read(passwd), read(subuid));
    }

    private static WatchedFile<TextFile> file(ProcFs proc, String path) {
        return new WatchedFile<>(
                () -> proc.machine().hostFiles().follow(Path.of(path), FileTree.Inspection.NONE),
                LARGEST,
                bytes -> new TextFile(Sha256.hex(bytes), Bytes.of(bytes)));
    }

    private static Reading<TextFile> read(WatchedFile<TextFile> file) {
        try {
            return Reading.of(file.current());
        } catch (IOException e) {
            return Reading.failed(e instanceof NoSuchFileException ? Failure.ABSENT : Failure.OTHER, Errno.textOf(e));
        }
    }
}

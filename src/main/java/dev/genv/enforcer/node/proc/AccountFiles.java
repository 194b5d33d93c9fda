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
    private final ProcFs proc;
    private final EtcFile passwd = new EtcFile(Path.of("/etc/passwd"));
    private final EtcFile subuid = new EtcFile(Path.of("/etc/subuid"));

    public AccountFiles(ProcFs proc) {
        this.proc = proc;
    }

    /** Returns passwd(5) and subuid(5). */
    public AccountFacts read() {
        return new AccountFacts(passwd.read(), subuid.read());
    }

    /** A file on the host and, for its failure, of the service itself. */
    private final class EtcFile {
        private static final int LARGEST = 4 << 20;

        private final WatchedFile<TextFile> file;

        EtcFile(Path path) {
            file = new WatchedFile<>(
                    () -> proc.machine().hostFiles().follow(path, FileTree.Inspection.NONE),
                    LARGEST,
                    bytes -> new TextFile(Sha256.hex(bytes), Bytes.of(bytes)));
        }

        Reading<TextFile> read() {
            try {
                return Reading.of(file.current());
            } catch (NoSuchFileException e) {
                return Reading.failed(Failure.ABSENT, Errno.textOf(e));
            } catch (IOException e) {
                return Reading.failed(Failure.OTHER, Errno.textOf(e));
            }
        }
    }
}

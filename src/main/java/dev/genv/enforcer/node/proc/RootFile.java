package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.host.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.StateFacts.FileId;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.TrustedOwners;
import dev.genv.enforcer.linux.TrustedOwners.UntrustedException;
import java.io.IOException;
import java.nio.file.Path;

/** A file that only root can change. */
public final class RootFile {
    private RootFile() {}

    /**
     * Identifies a file. The kernel answers from its cache, without the file system.
     *
     * @throws UntrustedException if another user can change it
     */
    public static ProgramFile identify(Path path) throws IOException {
        var status = FileCalls.status(path);
        if (!status.isRegular()) {
            throw new UntrustedException("it is not a file");
        }
        if (status.uid() != 0 || (status.mode() & TrustedOwners.WRITABLE_BY_OTHERS) != 0) {
            throw new UntrustedException("others can change it");
        }
        return new ProgramFile(new FileId(status.device(), status.inode()), status.born());
    }
}

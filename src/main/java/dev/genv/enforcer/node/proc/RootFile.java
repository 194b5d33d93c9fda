package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.host.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.host.StateFacts.FileId;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.FileTree.TrustedOwners;
import dev.genv.enforcer.linux.FileTree.TrustedOwners.UntrustedException;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
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

    /**
     * Identifies the program of a process: the file itself, even if it was renamed, removed or mounted elsewhere. If its first thread
     * has exited, another one shows it.
     *
     * @throws IOException if the kernel does not tell what it runs
     */
    static Reading<ProgramFile> ofProcess(ProcFs proc, int pid) throws IOException {
        try {
            return ofLink(proc.file(pid, "exe"));
        } catch (IOException e) {
            for (var thread : proc.threads(pid)) {
                try {
                    return ofLink(thread.resolve("exe"));
                } catch (NoSuchFileException ended) {
                    // The next thread may still run.
                }
            }
            throw e;
        }
    }

    /** A file system may refuse to show a file even to root, and the kernel refuses to show a path that is too long. */
    private static Reading<ProgramFile> ofLink(Path link) throws IOException {
        try {
            return Reading.of(identify(link));
        } catch (IOException notIdentified) {
            try {
                Files.readSymbolicLink(link);
            } catch (NoSuchFileException | AccessDeniedException unknown) {
                throw unknown;
            } catch (IOException tooLong) {
                // It is a program, whatever its path is.
            }
            return Reading.failed(Failure.UNTRUSTED, Errno.textOf(notIdentified));
        }
    }
}

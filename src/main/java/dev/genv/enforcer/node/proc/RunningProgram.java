package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.host.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.linux.Errno;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** The program of a process: the file itself, even if it was renamed, removed or mounted elsewhere. */
final class RunningProgram {
    private RunningProgram() {}

    /**
     * Identifies the program of a process, from another thread if the first one has exited.
     *
     * @throws IOException if the kernel does not tell what it runs
     */
    static Reading<ProgramFile> of(ProcFs proc, int pid) throws IOException {
        try {
            return of(proc.file(pid, "exe"));
        } catch (IOException e) {
            var tasks = proc.file(pid, "task");
            for (var thread : ProcFs.numbers(tasks)) {
                try {
                    return of(tasks.resolve(thread.toString()).resolve("exe"));
                } catch (NoSuchFileException ended) {
                    // The next thread may still run.
                }
            }
            throw e;
        }
    }

    /** A file system may refuse to show a file even to root, and the kernel refuses to show a path that is too long. */
    private static Reading<ProgramFile> of(Path link) throws IOException {
        try {
            return Reading.of(RootFile.identify(link));
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

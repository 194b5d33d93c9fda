package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.files.FileCalls;
import dev.genv.enforcer.files.FileStatus;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The program of a process.
 *
 * @param link a link to the file itself, even if the file was renamed or removed
 * @param target its path; null if unknown, for example if it is longer than the kernel reports
 */
record RunningProgram(Path link, @Nullable Path target) {
    /** Returns the program of a process, from another thread if the first one has exited. */
    static RunningProgram of(ProcFs proc, int pid) throws IOException {
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

    private static RunningProgram of(Path link) throws IOException {
        try {
            return new RunningProgram(link, Files.readSymbolicLink(link));
        } catch (NoSuchFileException e) {
            throw e;
        } catch (IOException e) {
            return new RunningProgram(link, null);
        }
    }

    /** Returns the status of its file. The kernel answers from its cache, without the file system. */
    FileStatus status() throws IOException {
        return FileCalls.status(link);
    }
}

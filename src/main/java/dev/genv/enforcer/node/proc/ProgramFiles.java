package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.host.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileTree;
import dev.genv.enforcer.linux.FileTree.TrustedOwners;
import dev.genv.enforcer.linux.FileTree.TrustedOwners.UntrustedException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/** The files of the protected programs on the host. They are found again in every observation, because a program may be replaced. */
public record ProgramFiles(ProcFs proc, List<Path> paths) {
    private static final TrustedOwners ROOT = new TrustedOwners(Set.of(0L));

    public ProgramFiles {
        paths = List.copyOf(paths);
    }

    /** Returns the files, in the order of the paths. */
    public List<Reading<ProgramFile>> read() {
        var host = proc.machine().hostFiles();
        return paths.stream().map(path -> read(host, path)).toList();
    }

    private static Reading<ProgramFile> read(FileTree host, Path path) {
        try {
            return Files.notExists(host.follow(path, FileTree.Inspection.NONE))
                    ? Reading.failed(Failure.ABSENT, "")
                    : Reading.of(RootFile.identify(host.follow(path, ROOT)));
        } catch (NoSuchFileException e) {
            return Reading.failed(Failure.ABSENT, "");
        } catch (UntrustedException e) {
            return Reading.failed(Failure.UNTRUSTED, String.valueOf(e.getMessage()));
        } catch (IOException e) {
            return Reading.failed(Failure.OTHER, Errno.textOf(e));
        }
    }
}

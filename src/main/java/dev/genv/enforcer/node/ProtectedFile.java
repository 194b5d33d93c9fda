package dev.genv.enforcer.node;

import dev.genv.enforcer.files.Errno;
import dev.genv.enforcer.files.FileCalls;
import dev.genv.enforcer.files.FileStatus;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The file of a protected program, as it was found.
 *
 * @param path what the settings call it
 * @param place where it is, once all links have been followed
 * @param links how many names the file has
 * @param status what tells it from every other file; null where that cannot be told
 * @param everybody whether it is protected whoever runs it
 * @param uid of which user it is protected besides root
 */
record ProtectedFile(
        Path path, Path place, int links, @Nullable FileStatus status, boolean everybody, long uid) {
    private static final long ROOT = 0;

    /**
     * Finds it.
     *
     * @throws UntrustedException where not root alone decides what file that is
     * @throws NoSuchFileException where there is none
     */
    static ProtectedFile find(FileTree host, Path path, boolean everybody, long uid) throws IOException {
        if (Files.notExists(host.follow(path, FileTree.Inspection.NONE))) {
            throw new NoSuchFileException(path.toString());
        }
        var place = host.follow(path, new TrustedOwners(Set.of(ROOT)));
        var status = FileCalls.status(place);
        if (!status.isRegular()) {
            throw new UntrustedException("it is not a file");
        }
        return new ProtectedFile(path, place, (int) Files.getAttribute(place, "unix:nlink"), status, everybody, uid);
    }

    /** Whether it is protected when a process of this real uid runs it; one that is not known may be any. */
    boolean appliesTo(@Nullable Long user) {
        return everybody || user == null || user == ROOT || user == uid;
    }

    /**
     * Whether this is the file that a process runs.
     *
     * @throws IOException where that cannot be told
     */
    boolean isOf(ProcFs.Program program) throws IOException {
        // Most are told apart by their names. The others are not even touched: they may lie where nobody answers.
        var target = program.target();
        var sameName = target == null || Objects.equals(target.getFileName(), place.getFileName());
        if (status == null || (links == 1 && !sameName)) {
            return false;
        }
        try {
            return status.isSameFile(FileCalls.status(program.link()));
        } catch (Errno e) {
            if (target == null) {
                throw e;
            }
            return false; // a file that we may not look at is not the one that we just did
        }
    }
}

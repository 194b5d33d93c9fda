package dev.genv.enforcer.node.protection;

import dev.genv.enforcer.files.Errno;
import dev.genv.enforcer.files.FileCalls;
import dev.genv.enforcer.files.FileStatus;
import dev.genv.enforcer.node.files.FileTree;
import dev.genv.enforcer.node.files.TrustedOwners;
import dev.genv.enforcer.node.files.UntrustedException;
import dev.genv.enforcer.node.proc.ProcFs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The file of a protected program.
 *
 * @param path the path in the settings
 * @param place its location after all links
 * @param links the number of hard links
 * @param status the identity of the file; null if unknown
 * @param allUsers whether it is protected for every user
 * @param uid the user for whom it is protected besides root
 */
record ProtectedFile(
        Path path, Path place, int links, @Nullable FileStatus status, boolean allUsers, long uid) {
    private static final long ROOT = 0;

    /**
     * Finds the file.
     *
     * @throws UntrustedException if a user other than root can replace it
     * @throws NoSuchFileException if there is none
     */
    static ProtectedFile find(FileTree host, Path path, boolean allUsers, long uid) throws IOException {
        if (Files.notExists(host.follow(path, FileTree.Inspection.NONE))) {
            throw new NoSuchFileException(path.toString());
        }
        var place = host.follow(path, new TrustedOwners(Set.of(ROOT)));
        var status = FileCalls.status(place);
        if (!status.isRegular()) {
            throw new UntrustedException("it is not a file");
        }
        return new ProtectedFile(path, place, (int) Files.getAttribute(place, "unix:nlink"), status, allUsers, uid);
    }

    /** Whether it is protected for a process of this real uid; an unknown uid may be any. */
    boolean appliesTo(@Nullable Long user) {
        return allUsers || user == null || user == ROOT || user == uid;
    }

    /**
     * Whether a process runs this file.
     *
     * @throws IOException if that is unknown
     */
    boolean isOf(ProcFs.Program program) throws IOException {
        // Most files differ by name. Others are not opened, because their file system may not answer.
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
            return false; // a file that the service may not read is not the file that it has just read
        }
    }
}

package dev.genv.enforcer.journal;

import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.FileStatus;
import java.nio.file.Path;
import java.util.Set;

/**
 * The users and groups that may write the journal: root, the service, and a group of both. Kubernetes gives a volume and its files to
 * such a group, the fsGroup of the pod.
 *
 * @param uid the user of the service
 * @param groups the groups of the service
 */
record WriteAccess(long uid, Set<Long> groups) {
    private static final int ROOT = 0;
    private static final int GROUP_CAN_WRITE = 0020;
    private static final int OTHERS_CAN_WRITE = 0002;
    private static final int GROUP = 0070;
    private static final int OTHERS = 0007;

    /** That of this process. */
    static WriteAccess ofService() throws Errno {
        return new WriteAccess(FileCalls.effectiveUid(), FileCalls.groups());
    }

    /**
     * Checks that no other user can write to a folder.
     *
     * @throws JournalException if others can
     */
    void checkFolder(Path path, FileStatus status) throws JournalException {
        if (status.uid() != ROOT && status.uid() != uid) {
            throw JournalException.foreign("%s belongs to uid %d".formatted(path, status.uid()));
        }
        if (has(status, OTHERS_CAN_WRITE)) {
            throw JournalException.foreign("every user can write to " + path);
        }
        if (has(status, GROUP_CAN_WRITE) && !isOwnGroup(status.gid())) {
            throw JournalException.foreign("gid %d can write to %s".formatted(status.gid(), path));
        }
    }

    /**
     * Checks that a file is one of the service, with one name and closed to others.
     *
     * @throws JournalException if it is not
     */
    void checkFile(Path file, FileStatus status) throws JournalException {
        if (!status.isRegular()) {
            throw JournalException.foreign(file + " is not a regular file");
        }
        if (status.uid() != uid) {
            throw JournalException.foreign("%s belongs to uid %d".formatted(file, status.uid()));
        }
        if (has(status, OTHERS) || (has(status, GROUP) && !isOwnGroup(status.gid())) || status.links() > 1) {
            throw JournalException.foreign(file + " is open to other users, or has a second name");
        }
    }

    /** Root needs no group, and its supplementary groups may have other members, such as the group tty. */
    private boolean isOwnGroup(long gid) {
        return gid == ROOT || (uid != ROOT && groups.contains(gid));
    }

    private static boolean has(FileStatus status, int permissions) {
        return (status.permissions() & permissions) != 0;
    }
}

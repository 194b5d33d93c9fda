package dev.genv.enforcer.store;

import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.FileCalls.Descriptor;
import dev.genv.enforcer.linux.FileCalls.FileStatus;
import dev.genv.enforcer.model.ProblemCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The open folder of the database, locked for this service. The service uses only a folder and files that no other user could have
 * written. Kubernetes gives a volume and its files to a group of the service, the fsGroup of the pod.
 */
final class DataFolder implements AutoCloseable {
    static final String DATABASE = "enforcer.db";
    /** SQLite keeps what is not yet in the database in the first file, and the index of that in the second one. */
    private static final List<String> SUFFIXES = List.of("", "-wal", "-shm");

    private static final String LOG = DATABASE + "-wal";
    private static final String DAMAGED = "damaged-";
    private static final String LOCK = "enforcer.lock";
    /** SQLite's write-ahead log needs memory that all its users share, and locks that work. */
    private static final Set<String> NETWORK = Set.of(
            "nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "glusterfs", "lustre", "gpfs", "afs", "9p", "beegfs");

    private static final Set<String> FUSE_NETWORK =
            Set.of("fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone");

    private static final int OWNER_ONLY = 0600;
    private static final int GROUP_CAN_WRITE = 0020;
    private static final int OTHERS_CAN_WRITE = 0002;
    private static final int GROUP = 0070;
    private static final int OTHERS = 0007;

    private final Path path;
    private final Descriptor directory;
    private final Access access;
    private @Nullable Descriptor lock;
    /** The file of the database when it was opened. */
    private FileStatus file;
    /** The write-ahead log when it was last looked at; null if there was none. */
    private @Nullable FileStatus log;

    /** The user and the groups of the service. */
    record Access(long uid, Set<Long> groups) {
        static Access ofService() throws Errno {
            return new Access(FileCalls.effectiveUid(), FileCalls.groups());
        }

        /** Checks that no other user can write to a folder. */
        void checkFolder(Path path, FileStatus status) throws StoreException {
            if (status.uid() != 0 && status.uid() != uid) {
                throw StoreException.foreign("%s belongs to uid %d".formatted(path, status.uid()));
            }
            if (has(status, OTHERS_CAN_WRITE)) {
                throw StoreException.foreign("every user can write to " + path);
            }
            if (has(status, GROUP_CAN_WRITE) && !isOwnGroup(status.gid())) {
                throw StoreException.foreign("gid %d can write to %s".formatted(status.gid(), path));
            }
        }

        /** Checks that a file is one of the service, with one name and closed to others. */
        void checkFile(Path file, FileStatus status) throws StoreException {
            if (!status.isRegular()) {
                throw StoreException.foreign(file + " is not a regular file");
            }
            if (status.uid() != uid) {
                throw StoreException.foreign("%s belongs to uid %d".formatted(file, status.uid()));
            }
            if (has(status, OTHERS) || (has(status, GROUP) && !isOwnGroup(status.gid())) || status.links() > 1) {
                throw StoreException.foreign(file + " is open to other users, or has a second name");
            }
        }

        /** Root needs no group, and its supplementary groups may have other members, such as the group tty. */
        private boolean isOwnGroup(long gid) {
            return gid == 0 || (uid != 0 && groups.contains(gid));
        }

        private static boolean has(FileStatus status, int permissions) {
            return (status.permissions() & permissions) != 0;
        }
    }

    private DataFolder(Path path, Descriptor directory) throws Errno {
        this.path = path;
        this.directory = directory;
        access = Access.ofService();
        file = directory.status();
    }

    /** Whether a folder has a database; false if there is no such folder. */
    static boolean hasDatabase(Path path) {
        return Files.exists(path.resolve(DATABASE), LinkOption.NOFOLLOW_LINKS);
    }

    /** Opens and locks a folder, and creates the file of the database if there is none. */
    static DataFolder open(Path path) throws StoreException {
        try {
            var folder = new DataFolder(path, Descriptor.openDirectory(path, FileCalls.O_RDONLY));
            try {
                folder.access.checkFolder(path, folder.file);
                checkFileSystem(path);
                folder.lock();
                folder.createFile();
                return folder;
            } catch (IOException e) {
                folder.close();
                throw e;
            }
        } catch (StoreException e) {
            throw e;
        } catch (IOException e) {
            throw StoreException.unwritable(path, e);
        }
    }

    private static void checkFileSystem(Path path) throws IOException {
        var type = Files.getFileStore(path).type().toLowerCase(Locale.ROOT);
        if (NETWORK.contains(type) || FUSE_NETWORK.contains(type)) {
            throw StoreException.foreign("%s is on a network file system (%s)".formatted(path, type));
        }
    }

    private void lock() throws IOException {
        var opened = create(LOCK);
        lock = opened;
        access.checkFile(path.resolve(LOCK), opened.status());
        if (!opened.tryLock()) {
            throw new StoreException(ProblemCode.DATA_LOCKED, "another service uses " + path);
        }
    }

    /** SQLite takes over the mode and the owner for its other files. */
    void createFile() throws IOException {
        for (var suffix : SUFFIXES) {
            var status = directory.find(DATABASE + suffix);
            if (status != null) {
                access.checkFile(path.resolve(DATABASE + suffix), status);
            }
        }
        if (directory.find(DATABASE) == null) {
            create(DATABASE).close(); // SQLite has not opened it, so no lock ends with this
        }
        file = directory.status(DATABASE);
    }

    private Descriptor create(String name) throws IOException {
        try {
            return directory.open(name, FileCalls.O_RDONLY | FileCalls.O_CREAT, OWNER_ONLY);
        } catch (Errno e) {
            throw e.is(Errno.ELOOP)
                    ? StoreException.foreign(path.resolve(name) + " is a symbolic link")
                    : StoreException.unwritable(path.resolve(name), e);
        }
    }

    Path database() {
        return path.resolve(DATABASE);
    }

    /** Whether the next run will find what is written here. */
    boolean isInPlace() {
        try {
            var before = log;
            var isInPlace = directory.status().isSameFile(FileCalls.statusOfLink(path))
                    && lock != null
                    && directory.has(LOCK, lock.status())
                    && directory.has(DATABASE, file);
            log = isInPlace ? directory.find(LOG) : before;
            return isInPlace && (before == null || directory.has(LOG, before));
        } catch (IOException e) {
            return false; // such as a file that is missing
        }
    }

    /** The size of what is not yet in the database, in bytes. */
    long logBytes() {
        try {
            return directory.status(LOG).size();
        } catch (Errno e) {
            return 0; // there is none
        }
    }

    /**
     * Removes what a closed database left, if the folder has another database now: SQLite would apply the log of the one to the other.
     */
    void removeLog() throws IOException {
        if (log != null && directory.has(LOG, log)) {
            directory.remove(LOG);
        }
    }

    /** Renames the files of a damaged database, in place of those of an earlier one. */
    void setAside() throws IOException {
        for (var suffix : SUFFIXES) {
            if (directory.find(DATABASE + suffix) != null) {
                directory.rename(DATABASE + suffix, DAMAGED + DATABASE + suffix);
            } else if (directory.find(DAMAGED + DATABASE + suffix) != null) {
                directory.remove(DAMAGED + DATABASE + suffix);
            }
        }
    }

    /** Whether the folder has a damaged database that nobody has removed. */
    boolean hasDamaged() throws Errno {
        return directory.find(DAMAGED + DATABASE) != null;
    }

    Path damaged() {
        return path.resolve(DAMAGED + DATABASE);
    }

    @Override
    public void close() {
        if (lock != null) {
            lock.close();
        }
        directory.close();
    }
}

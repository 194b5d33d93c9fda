package dev.genv.enforcer.node;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;

/**
 * What the kernel says of a file.
 *
 * @param mode type and permissions, as in stat(2)
 * @param uid its owner
 * @param size in bytes
 * @param device the file system it is on; only to be compared
 */
record FileStatus(int mode, long uid, long inode, long size, long device) {
    private static final int TYPE = 0170000;
    private static final int REGULAR = 0100000;
    private static final int PERMISSIONS = 07777;

    /** Reads {@code struct statx}. */
    static FileStatus ofStatx(MemorySegment status) {
        return new FileStatus(
                Short.toUnsignedInt(status.get(JAVA_SHORT, 28)),
                Integer.toUnsignedLong(status.get(JAVA_INT, 20)),
                status.get(JAVA_LONG, 32),
                status.get(JAVA_LONG, 40),
                (long) status.get(JAVA_INT, 136) << Integer.SIZE | Integer.toUnsignedLong(status.get(JAVA_INT, 140)));
    }

    boolean isRegular() {
        return (mode & TYPE) == REGULAR;
    }

    int permissions() {
        return mode & PERMISSIONS;
    }

    boolean isSameFile(FileStatus other) {
        return inode == other.inode && device == other.device;
    }
}

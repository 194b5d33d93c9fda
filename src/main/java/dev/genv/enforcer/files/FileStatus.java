package dev.genv.enforcer.files;

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
 * @param device the file system it is on: its major number in the upper half, its minor number in the lower
 * @param links how many names it has; 0 where it was removed
 * @param modified when its content was last written, in nanoseconds
 * @param changed when anything of it was last changed, in nanoseconds; nobody can set this back
 * @param born when it was made, in nanoseconds; 0 where the file system does not tell
 */
public record FileStatus(
        int mode, long uid, long inode, long size, long device, long links, long modified, long changed, long born) {
    private static final int TYPE = 0170000;
    private static final int REGULAR = 0100000;
    private static final int PERMISSIONS = 07777;
    private static final long NANOS_PER_SECOND = 1_000_000_000L;

    /** Reads {@code struct statx}. */
    static FileStatus ofStatx(MemorySegment status) {
        return new FileStatus(
                Short.toUnsignedInt(status.get(JAVA_SHORT, 28)),
                Integer.toUnsignedLong(status.get(JAVA_INT, 20)),
                status.get(JAVA_LONG, 32),
                status.get(JAVA_LONG, 40),
                device(status.get(JAVA_INT, 136), status.get(JAVA_INT, 140)),
                Integer.toUnsignedLong(status.get(JAVA_INT, 16)),
                time(status, 112),
                time(status, 96),
                time(status, 80));
    }

    public static long device(int major, int minor) {
        return (long) major << Integer.SIZE | Integer.toUnsignedLong(minor);
    }

    private static long time(MemorySegment status, long offset) {
        return status.get(JAVA_LONG, offset) * NANOS_PER_SECOND + status.get(JAVA_INT, offset + Long.BYTES);
    }

    public boolean isRegular() {
        return (mode & TYPE) == REGULAR;
    }

    public int permissions() {
        return mode & PERMISSIONS;
    }

    public boolean isSameFile(FileStatus other) {
        return inode == other.inode && device == other.device;
    }
}

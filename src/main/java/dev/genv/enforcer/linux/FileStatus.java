package dev.genv.enforcer.linux;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;

/**
 * The status of a file from the kernel.
 *
 * @param mode type and permissions, as in stat(2)
 * @param uid the owner
 * @param gid the group
 * @param size in bytes
 * @param device the device number of its file system: the major number in the upper half, the minor number in the lower one
 * @param represented the device number that a device file stands for, in the same form; 0 for other files
 * @param links the number of hard links; 0 if the file was removed
 * @param modified the modification time of its content, in nanoseconds
 * @param changed the change time of its inode, in nanoseconds; users cannot set it
 * @param born the creation time, in nanoseconds; 0 if the file system does not record it
 */
public record FileStatus(
        int mode,
        long uid,
        long gid,
        long inode,
        long size,
        long device,
        long represented,
        long links,
        long modified,
        long changed,
        long born) {
    private static final int TYPE = 0170000;
    private static final int REGULAR = 0100000;
    private static final int CHARACTER_DEVICE = 0020000;
    private static final int PERMISSIONS = 07777;
    private static final long NANOS_PER_SECOND = 1_000_000_000L;

    /** Parses {@code struct statx}. */
    static FileStatus ofStatx(MemorySegment status) {
        return new FileStatus(
                Short.toUnsignedInt(status.get(JAVA_SHORT, 28)),
                Integer.toUnsignedLong(status.get(JAVA_INT, 20)),
                Integer.toUnsignedLong(status.get(JAVA_INT, 24)),
                status.get(JAVA_LONG, 32),
                status.get(JAVA_LONG, 40),
                device(status.get(JAVA_INT, 136), status.get(JAVA_INT, 140)),
                device(status.get(JAVA_INT, 128), status.get(JAVA_INT, 132)),
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

    public boolean isCharacterDevice() {
        return (mode & TYPE) == CHARACTER_DEVICE;
    }

    public int permissions() {
        return mode & PERMISSIONS;
    }

    public boolean isSameFile(FileStatus other) {
        return inode == other.inode && device == other.device;
    }
}

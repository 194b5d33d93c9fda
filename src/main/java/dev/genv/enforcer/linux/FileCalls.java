package dev.genv.enforcer.linux;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import dev.genv.enforcer.linux.Libc.NativeFunction;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** File system calls that Java does not offer: non-blocking, relative to a directory ({@link Descriptor}), without following links, and flock(2). */
public final class FileCalls {
    private static final int AT_FDCWD = -100;
    public static final int O_RDONLY = 0;
    public static final int O_WRONLY = 1;
    public static final int O_CREAT = 0100;
    public static final int O_EXCL = 0200;
    // Only these two flags differ between the architectures (asm/fcntl.h).
    private static final boolean ARM = System.getProperty("os.arch").equals("aarch64");
    public static final int O_PATH = 010000000;
    private static final int O_DIRECTORY = ARM ? 040000 : 0200000;
    private static final int O_NOFOLLOW = ARM ? 0100000 : 0400000;
    private static final int O_NOCTTY = 0400;
    private static final int O_NONBLOCK = 04000;
    static final int O_CLOEXEC = 02000000;

    private static final int AT_SYMLINK_NOFOLLOW = 0x100;
    private static final int AT_EMPTY_PATH = 0x1000;
    private static final int AT_STATX_DONT_SYNC = 0x4000;
    /** The kernel's own limit. */
    private static final int MAX_GROUPS = 65_536;

    private static final int RLIMIT_NOFILE = 7;

    public static final short POLLIN = 1;
    public static final short POLLPRI = 2;
    private static final int LOCK_EX = 2;
    private static final int LOCK_NB = 4;
    private static final int STATX_BASIC_STATS_AND_BTIME = 0xfff;

    private static final NativeFunction OPENAT = NativeFunction.of("openat");
    private static final NativeFunction CLOSE = NativeFunction.of("close");
    private static final NativeFunction READ = NativeFunction.returningLong("read");
    private static final NativeFunction PREAD = NativeFunction.returningLong("pread");
    private static final NativeFunction READLINK = NativeFunction.returningLong("readlink");
    private static final NativeFunction GETRLIMIT = NativeFunction.of("getrlimit");
    private static final NativeFunction WRITE = NativeFunction.returningLong("write");
    private static final NativeFunction FSYNC = NativeFunction.of("fsync");
    private static final NativeFunction GETEUID = NativeFunction.of("geteuid");
    private static final NativeFunction GETEGID = NativeFunction.of("getegid");
    private static final NativeFunction GETGROUPS = NativeFunction.of("getgroups");
    private static final NativeFunction FLOCK = NativeFunction.of("flock");
    private static final NativeFunction POLL = NativeFunction.of("poll");
    private static final NativeFunction FCHMOD = NativeFunction.of("fchmod");
    private static final NativeFunction RENAMEAT = NativeFunction.of("renameat");
    private static final NativeFunction UNLINKAT = NativeFunction.of("unlinkat");
    private static final NativeFunction STATX = NativeFunction.of("statx");

    private FileCalls() {}

    /** Opens a file for reading with O_CLOEXEC, O_NOCTTY and O_NONBLOCK, without waiting for a writer or a lease. */
    public static int open(Path path) throws Errno {
        return open(AT_FDCWD, path.toString(), O_RDONLY, 0);
    }

    private static int open(int directory, String path, int flags, int mode) throws Errno {
        var all = flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
        return (int) OPENAT.call(directory, Descriptor.inBuffer(path).address(), all, mode);
    }

    /** Closes a descriptor, once: after EINTR it is closed too, and its number may already be reused. */
    static void close(int descriptor) throws Errno {
        CLOSE.callOnce(descriptor);
    }

    public static long effectiveUid() throws Errno {
        return Integer.toUnsignedLong((int) GETEUID.call());
    }

    /** The effective group and the supplementary groups of the service. */
    public static Set<Long> groups() throws Errno {
        var groups = new HashSet<>(Set.of(Integer.toUnsignedLong((int) GETEGID.call())));
        try (var arena = Arena.ofConfined()) {
            var list = arena.allocate(JAVA_INT, MAX_GROUPS);
            var count = GETGROUPS.call(MAX_GROUPS, list.address());
            for (var index = 0L; index < count; index++) {
                groups.add(Integer.toUnsignedLong(list.getAtIndex(JAVA_INT, index)));
            }
        }
        return groups;
    }

    /** Returns how many descriptors this process may have. */
    public static long mostDescriptors() throws Errno {
        try (var arena = Arena.ofConfined()) {
            var limits = arena.allocate(JAVA_LONG, 2);
            GETRLIMIT.call(RLIMIT_NOFILE, limits.address());
            var most = limits.getAtIndex(JAVA_LONG, 0);
            return most < 0 ? Long.MAX_VALUE : most; // RLIM_INFINITY
        }
    }

    /** A link that names a namespace, as in {@code /proc/PID/ns}. It is read again and again. */
    public static final class NamespaceLink {
        private static final int LONGEST = 64;

        private final MemorySegment path;

        public NamespaceLink(String path) {
            this.path = Arena.ofAuto().allocateFrom(path);
        }

        /** Returns the number of the namespace, which no other one has as long as a process is in it. */
        public long number() throws Errno {
            var text = Descriptor.BUFFERS.get();
            var length = READLINK.call(path.address(), text.address(), LONGEST);
            var number = 0L;
            for (var i = 0L; i < length; i++) {
                var character = text.get(JAVA_BYTE, i);
                number = character >= '0' && character <= '9' ? 10 * number + character - '0' : number;
            }
            return number;
        }
    }

    /** Does not follow a link. */
    public static FileStatus statusOfLink(Path path) throws Errno {
        return statx(AT_FDCWD, path.toString(), AT_SYMLINK_NOFOLLOW);
    }

    /** Follows links, and uses cached attributes only (AT_STATX_DONT_SYNC): a user's file server may not answer. */
    public static FileStatus status(Path path) throws Errno {
        return statx(AT_FDCWD, path.toString(), AT_STATX_DONT_SYNC);
    }

    /** statx(2), whose struct has the same layout on every architecture (linux/stat.h). */
    private static FileStatus statx(int directory, String name, int flags) throws Errno {
        var path = Descriptor.inBuffer(name);
        var status = Descriptor.BUFFERS.get().asSlice(Descriptor.LONGEST_PATH);
        STATX.call(directory, path.address(), flags, STATX_BASIC_STATS_AND_BTIME, status.address(), 0);
        return FileStatus.ofStatx(status);
    }

    /**
     * The status of a file, see statx(2). Times are in nanoseconds.
     *
     * @param mode type and permissions
     * @param device of its file system: the major number in the upper half, the minor number in the lower one
     * @param represented the device number that a device file stands for, in the same form; 0 for other files
     * @param links 0 if the file was removed
     * @param changed users cannot set it
     * @param born 0 if the file system does not record it
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

    /**
     * An open file descriptor, closed once. The path of a file may lead to another file at any time, so type and content come from one
     * descriptor. One buffer of each thread is reused: Java's own streams need 16 KiB of heap for each of the hundreds of files of a cycle.
     */
    public static final class Descriptor implements AutoCloseable {
        static final int BUFFER = 8 << 10;

        /** The kernel's PATH_MAX, with the zero byte. */
        private static final int LONGEST_PATH = 4096;

        private static final ThreadLocal<MemorySegment> BUFFERS =
                ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(BUFFER, Long.BYTES));

        private final int number;
        private boolean open = true;

        public Descriptor(int number) {
            this.number = number;
        }

        /**
         * Opens a directory, not a link to one.
         *
         * @param access with {@link FileCalls#O_PATH} users who watch the directory (inotify) get no event
         */
        public static Descriptor openDirectory(Path path, int access) throws Errno {
            return new Descriptor(FileCalls.open(AT_FDCWD, path.toString(), access | O_DIRECTORY | O_NOFOLLOW, 0));
        }

        /** Opens a regular file for reading. It never waits, whatever kind of file it is. */
        public static Descriptor openRegular(Path path) throws IOException {
            if (!Files.readAttributes(path, BasicFileAttributes.class).isRegularFile()) {
                throw notRegular(path); // opening a device may have side effects
            }
            Descriptor file;
            try {
                file = new Descriptor(FileCalls.open(path));
            } catch (Errno e) {
                throw e.of(path.toString());
            }
            try {
                if (!file.status().isRegular()) {
                    throw notRegular(path);
                }
                return file;
            } catch (IOException e) {
                file.close();
                throw e;
            }
        }

        /** Returns the buffer of this thread with a path at its beginning. */
        private static MemorySegment inBuffer(String path) throws Errno {
            var bytes = path.getBytes(StandardCharsets.UTF_8);
            if (bytes.length >= LONGEST_PATH) {
                throw new Errno("open", Errno.ENAMETOOLONG);
            }
            var buffer = BUFFERS.get();
            MemorySegment.copy(bytes, 0, buffer, JAVA_BYTE, 0, bytes.length);
            buffer.set(JAVA_BYTE, bytes.length, (byte) 0);
            return buffer;
        }

        /**
         * Reads the beginning of a file whose content the kernel makes when it is read, as in {@code /proc}. It waits as long as the kernel does.
         *
         * @param limit in bytes
         * @throws IOException of the same kinds as those of {@link Files}
         */
        public static byte[] readKernelFile(String path, int limit) throws IOException {
            try (var file =
                    new Descriptor((int) OPENAT.call(AT_FDCWD, inBuffer(path).address(), O_CLOEXEC | O_NOCTTY))) {
                return file.read(limit);
            } catch (Errno e) {
                throw e.of(path);
            }
        }

        /** Opens such a file. */
        public static Descriptor openKernelFile(String path) throws IOException {
            try {
                return new Descriptor(FileCalls.open(AT_FDCWD, path, O_RDONLY, 0));
            } catch (Errno e) {
                throw e.of(path);
            }
        }

        /**
         * Reads the beginning of such a file, which the kernel makes anew for each reading from its beginning. Returns how many bytes it has: as
         * many as fit, or all.
         */
        public int readFromStart(byte[] content) throws Errno {
            var buffer = BUFFERS.get();
            var count = (int) PREAD.call(number, buffer.address(), Math.min(BUFFER, content.length), 0);
            MemorySegment.copy(buffer, JAVA_BYTE, 0, content, 0, count);
            return count;
        }

        public int number() {
            return number;
        }

        public FileStatus status() throws Errno {
            return FileCalls.statx(number, "", AT_EMPTY_PATH);
        }

        /** Opens a file of this directory without following a link, without waiting for a writer or a lease. The umask applies to the mode. */
        public Descriptor open(String name, int flags, int mode) throws Errno {
            return new Descriptor(FileCalls.open(number, name, flags | O_NOFOLLOW, mode));
        }

        /** Returns the status of a name in this directory, without following a link. */
        public FileStatus status(String name) throws Errno {
            return FileCalls.statx(number, name, AT_SYMLINK_NOFOLLOW);
        }

        /** The same; null if there is none. */
        public @Nullable FileStatus find(String name) throws Errno {
            try {
                return status(name);
            } catch (Errno e) {
                if (e.is(Errno.ENOENT)) {
                    return null;
                }
                throw e;
            }
        }

        /** Whether this is the file with this name in this directory. */
        public boolean has(String name, FileStatus file) throws Errno {
            var found = find(name);
            return found != null && found.isSameFile(file);
        }

        public void rename(String from, String to) throws Errno {
            try (var arena = Arena.ofConfined()) {
                RENAMEAT.call(
                        number,
                        arena.allocateFrom(from).address(),
                        number,
                        arena.allocateFrom(to).address());
            }
        }

        public void remove(String name) throws Errno {
            try (var arena = Arena.ofConfined()) {
                UNLINKAT.call(number, arena.allocateFrom(name).address(), 0);
            }
        }

        /** Sets the permissions, independent of the umask. */
        public void setMode(int mode) throws Errno {
            FCHMOD.call(number, mode);
        }

        public void write(byte[] bytes) throws Errno {
            try (var arena = Arena.ofConfined()) {
                var buffer = arena.allocateFrom(JAVA_BYTE, bytes);
                for (var written = 0L; written < bytes.length; ) {
                    written += WRITE.call(number, buffer.address() + written, bytes.length - written);
                }
            }
        }

        public void sync() throws Errno {
            FSYNC.call(number);
        }

        /** Tries to take an exclusive flock(2) lock, which genv uses. Java's file locks do not exclude it. */
        public boolean tryLock() throws Errno {
            try {
                FLOCK.call(number, LOCK_EX | LOCK_NB);
                return true;
            } catch (Errno e) {
                if (e.is(Errno.EAGAIN)) {
                    return false;
                }
                throw e;
            }
        }

        /** Waits for one of these events of poll(2), at most so long. Returns whether one came, or an error. */
        public boolean poll(short events, int millis) throws Errno {
            try (var arena = Arena.ofConfined()) {
                var pollfd = arena.allocate(8, 4); // descriptor, requested events, returned events
                pollfd.set(JAVA_INT, 0, number);
                pollfd.set(JAVA_SHORT, 4, events);
                return POLL.call(pollfd.address(), 1, millis) > 0;
            }
        }

        /** Reads to the end of the file, at most so many bytes. */
        public byte[] read(int limit) throws Errno {
            return read(new byte[0], limit);
        }

        /** Reads as many bytes of the file as it had, or fewer. Memory for them is allocated once: state files have megabytes. */
        public byte[] readSized(int expected) throws Errno {
            return read(new byte[expected], expected);
        }

        private byte[] read(byte[] start, int limit) throws Errno {
            var buffer = BUFFERS.get();
            var content = start;
            var size = 0;
            while (size < limit) {
                var count = (int) READ.call(number, buffer.address(), Math.min(BUFFER, limit - size));
                if (count == 0) {
                    break; // only this is the end: a read can return less than there is
                }
                if (size + count > content.length) {
                    content = Arrays.copyOf(content, Math.max(size + count, Math.min(limit, 2 * size)));
                }
                MemorySegment.copy(buffer, JAVA_BYTE, 0, content, size, count);
                size += count;
            }
            return size == content.length ? content : Arrays.copyOf(content, size);
        }

        @Override
        public void close() {
            if (open) {
                open = false;
                try {
                    FileCalls.close(number);
                } catch (Errno e) {
                    // The kernel has closed it nonetheless.
                }
            }
        }

        private static IOException notRegular(Path path) {
            return new IOException(path + " is not a regular file");
        }
    }
}

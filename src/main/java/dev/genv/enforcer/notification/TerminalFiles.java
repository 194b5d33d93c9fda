package dev.genv.enforcer.notification;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.FileStatus;
import dev.genv.enforcer.linux.NativeFunction;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;

/**
 * Writes to pseudoterminals of the node. In a file system of the type devpts only the kernel creates files, so a user cannot put a FIFO
 * or a link in the place of a terminal.
 *
 * @param directory the devpts of the machine, such as {@code /proc/1/root/dev/pts}
 */
record TerminalFiles(Path directory) {
    /** The major number of pseudoterminals; the minor number is the number of the terminal (Documentation/admin-guide/devices.txt). */
    static final int MAJOR = 136;

    /** linux/magic.h. */
    private static final long DEVPTS_SUPER_MAGIC = 0x1cd1;

    private static final int STATFS_BYTES = 256;
    private static final int GROUP_WRITABLE = 020;
    private static final NativeFunction FSTATFS = NativeFunction.of("fstatfs", JAVA_INT, JAVA_INT, ADDRESS);
    private static final NativeFunction WRITE = NativeFunction.of("write", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG);

    /** What became of a message. */
    enum Result {
        WRITTEN,
        /** It belongs to another user, or its user accepts no messages (mesg n). */
        REFUSED,
        /** It accepted less than the message, because no program reads it. */
        NOT_READ
    }

    /** Writes a text once, if the terminal of this number belongs to this user and accepts messages of others. */
    Result write(int number, long uid, byte[] text) throws IOException {
        var folder = FileCalls.openat(FileCalls.AT_FDCWD, directory.toString(), FileCalls.O_DIRECTORY, 0);
        try {
            if (type(folder) != DEVPTS_SUPER_MAGIC) {
                throw new IOException("%s is no devpts".formatted(directory));
            }
            var name = Integer.toString(number);
            if (!accepts(FileCalls.status(folder, name), number, uid)) {
                return Result.REFUSED; // not even opened
            }
            var terminal = FileCalls.openat(folder, name, FileCalls.O_WRONLY, 0);
            try {
                return accepts(FileCalls.status(terminal), number, uid) ? writeOnce(terminal, text) : Result.REFUSED;
            } finally {
                FileCalls.close(terminal);
            }
        } finally {
            FileCalls.close(folder);
        }
    }

    private static boolean accepts(FileStatus status, int number, long uid) {
        return status.isCharacterDevice()
                && status.represented() == FileStatus.device(MAJOR, number)
                && status.uid() == uid
                && (status.permissions() & GROUP_WRITABLE) != 0;
    }

    /** Writes what the terminal takes at once: its descriptor does not block. */
    private static Result writeOnce(int terminal, byte[] text) throws Errno {
        try (var arena = Arena.ofConfined()) {
            var written = WRITE.callOnce(terminal, arena.allocateFrom(ValueLayout.JAVA_BYTE, text), (long) text.length);
            return written == text.length ? Result.WRITTEN : Result.NOT_READ;
        } catch (Errno e) {
            if (e.is(Errno.EAGAIN)) {
                return Result.NOT_READ;
            }
            throw e;
        }
    }

    private static long type(int folder) throws Errno {
        try (var arena = Arena.ofConfined()) {
            var status = arena.allocate(STATFS_BYTES, Long.BYTES);
            FSTATFS.call(folder, status);
            return status.get(JAVA_LONG, 0);
        }
    }
}

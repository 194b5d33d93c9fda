package dev.genv.enforcer.files;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A file whose content the kernel makes when it is read, such as those of {@code /proc}. Their size is unknown before. A cycle reads
 * hundreds of them, so one buffer of each thread is reused; Java's own streams need 16 KiB of heap for each file.
 */
public final class KernelFile {
    private static final int O_NOCTTY = 0400;
    private static final int O_CLOEXEC = 02000000;
    private static final int BUFFER = 8 << 10;
    /** The kernel's PATH_MAX, with the zero byte. */
    private static final int LONGEST_PATH = 4096;

    private static final NativeFunction OPEN = NativeFunction.variadic("open", 2, JAVA_INT, ADDRESS, JAVA_INT);
    private static final NativeFunction READ = NativeFunction.of("read", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG);

    private static final ThreadLocal<MemorySegment> BUFFERS =
            ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(BUFFER));

    private KernelFile() {}

    /**
     * Reads the beginning of a file. The call waits as long as the kernel does.
     *
     * @param limit in bytes
     * @throws IOException if it cannot be read: the same kinds as of {@link java.nio.file.Files}
     */
    public static byte[] read(String path, int limit) throws IOException {
        var buffer = BUFFERS.get();
        try {
            var descriptor = open(path, buffer);
            try {
                return read(descriptor, buffer, limit);
            } finally {
                FileCalls.close(descriptor);
            }
        } catch (Errno e) {
            throw e.of(path);
        }
    }

    private static int open(String path, MemorySegment buffer) throws IOException {
        var bytes = path.getBytes(StandardCharsets.UTF_8);
        if (bytes.length >= LONGEST_PATH) {
            throw new IOException("this path is too long");
        }
        MemorySegment.copy(bytes, 0, buffer, JAVA_BYTE, 0, bytes.length);
        buffer.set(JAVA_BYTE, bytes.length, (byte) 0);
        return (int) OPEN.call(buffer, O_CLOEXEC | O_NOCTTY);
    }

    private static byte[] read(int descriptor, MemorySegment buffer, int limit) throws Errno {
        var content = new byte[0];
        var size = 0;
        while (size < limit) {
            var count = (int) READ.call(descriptor, buffer, (long) Math.min(BUFFER, limit - size));
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
}

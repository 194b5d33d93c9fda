package dev.genv.enforcer.linux;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.genv.enforcer.linux.FileCalls.FileStatus;
import dev.genv.enforcer.linux.Libc.NativeFunction;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Arrays;

/**
 * An open file descriptor, closed once. The path of a file may lead to another file at any time, so type and content come from
 * one descriptor. A cycle reads hundreds of files, so one buffer of each thread is reused; Java's own streams need 16 KiB of heap
 * for each.
 */
public final class Descriptor implements AutoCloseable {
    private static final int BUFFER = 8 << 10;
    /** The kernel's PATH_MAX, with the zero byte. */
    private static final int LONGEST_PATH = 4096;

    private static final NativeFunction OPEN = NativeFunction.variadic("open", 2, JAVA_INT, ADDRESS, JAVA_INT);

    private static final ThreadLocal<MemorySegment> BUFFERS =
            ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(BUFFER));

    private final int number;
    private boolean open = true;

    public Descriptor(int number) {
        this.number = number;
    }

    /**
     * Opens a regular file for reading. It never waits, whatever kind of file it is.
     *
     * @throws IOException if it cannot be opened or is not a regular file
     */
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

    /**
     * Reads the beginning of a file whose content the kernel makes when it is read, such as those of {@code /proc}. Their size is
     * unknown before. The call waits as long as the kernel does.
     *
     * @param limit in bytes
     * @throws IOException if it cannot be read: the same kinds as of {@link Files}
     */
    public static byte[] readKernelFile(String path, int limit) throws IOException {
        var bytes = path.getBytes(StandardCharsets.UTF_8);
        if (bytes.length >= LONGEST_PATH) {
            throw new IOException("this path is too long");
        }
        var buffer = BUFFERS.get();
        MemorySegment.copy(bytes, 0, buffer, JAVA_BYTE, 0, bytes.length);
        buffer.set(JAVA_BYTE, bytes.length, (byte) 0);
        try (var file = new Descriptor((int) OPEN.call(buffer, FileCalls.O_CLOEXEC | FileCalls.O_NOCTTY))) {
            return file.read(limit);
        } catch (Errno e) {
            throw e.of(path);
        }
    }

    public int number() {
        return number;
    }

    public FileStatus status() throws Errno {
        return FileCalls.status(number);
    }

    /** Reads to the end of the file, up to a limit of bytes. */
    public byte[] read(int limit) throws Errno {
        var buffer = BUFFERS.get();
        var content = new byte[0];
        var size = 0;
        while (size < limit) {
            var count = (int) FileCalls.READ.call(number, buffer, (long) Math.min(BUFFER, limit - size));
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
    public void close() throws IOException {
        if (open) {
            open = false;
            FileCalls.close(number);
        }
    }

    private static IOException notRegular(Path path) {
        return new IOException(path + " is not a regular file");
    }
}

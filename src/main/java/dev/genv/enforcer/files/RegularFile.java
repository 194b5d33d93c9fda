package dev.genv.enforcer.files;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.Map;
import java.util.Objects;

/**
 * An open regular file. Its path may lead to another file at any time, so type and content come from one descriptor. Opening never
 * waits, whatever kind of file it is.
 */
public final class RegularFile implements AutoCloseable {
    private static final int TYPE = 0170000;
    private static final int REGULAR = 0100000;

    private final Path path;
    private final int descriptor;
    private final Status status;

    private RegularFile(Path path, int descriptor) throws IOException {
        this.path = path;
        this.descriptor = descriptor;
        this.status = status(Path.of("/proc/self/fd", Integer.toString(descriptor)));
        if ((status.mode & TYPE) != REGULAR) {
            throw notRegular(path);
        }
    }

    /**
     * The status of a file from the kernel. Equal statuses mean equal content, because users cannot set the change time.
     *
     * @param mode type and permissions
     * @param uid the owner
     */
    public record Status(long device, long inode, int mode, long uid, long size, FileTime modified, FileTime changed) {}

    /**
     * Opens a file for reading.
     *
     * @throws IOException if it cannot be opened or is not a regular file
     */
    public static RegularFile open(Path path) throws IOException {
        if (!Files.readAttributes(path, BasicFileAttributes.class).isRegularFile()) {
            throw notRegular(path); // opening a device may have side effects
        }
        int descriptor;
        try {
            descriptor = FileCalls.open(path);
        } catch (Errno e) {
            throw e.of(path.toString());
        }
        try {
            return new RegularFile(path, descriptor);
        } catch (IOException e) {
            FileCalls.close(descriptor);
            throw e;
        }
    }

    public Status status() {
        return status;
    }

    /**
     * Reads the whole file.
     *
     * @param largest the largest size in bytes
     * @throws FileTooLargeException if it has more bytes
     * @throws IOException if it cannot be read
     */
    public byte[] read(int largest) throws IOException {
        var content = new ByteArrayOutputStream();
        try {
            for (var isMore = true; isMore; ) {
                var bytes = FileCalls.read(descriptor, FileCalls.BUFFER);
                content.writeBytes(bytes);
                if (content.size() > largest) {
                    throw new FileTooLargeException(path, largest);
                }
                isMore = bytes.length == FileCalls.BUFFER;
            }
        } catch (Errno e) {
            throw e.of(path.toString());
        }
        return content.toByteArray();
    }

    @Override
    public void close() throws IOException {
        FileCalls.close(descriptor);
    }

    private static Status status(Path open) throws IOException {
        Map<String, Object> all = Files.readAttributes(open, "unix:dev,ino,mode,uid,size,lastModifiedTime,ctime");
        return new Status(
                number(all, "dev"),
                number(all, "ino"),
                (int) number(all, "mode"),
                number(all, "uid"),
                number(all, "size"),
                attribute(all, "lastModifiedTime", FileTime.class),
                attribute(all, "ctime", FileTime.class));
    }

    private static long number(Map<String, Object> attributes, String name) {
        return attribute(attributes, name, Number.class).longValue();
    }

    private static <T> T attribute(Map<String, Object> attributes, String name, Class<T> type) {
        return type.cast(Objects.requireNonNull(attributes.get(name)));
    }

    private static IOException notRegular(Path path) {
        return new IOException(path + " is not a regular file");
    }
}

package dev.genv.enforcer.files;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.util.Map;

/** A system call failed. */
public final class Errno extends IOException {
    public static final int EPERM = 1;
    public static final int ENOENT = 2;
    public static final int ESRCH = 3;
    public static final int EINTR = 4;
    public static final int EAGAIN = 11;
    public static final int EACCES = 13;
    public static final int EEXIST = 17;
    public static final int ENOTDIR = 20;
    public static final int ELOOP = 40;
    private static final long serialVersionUID = 1L;

    /** The numbers are the same on all Linux architectures that JDK 25 supports. */
    private static final Map<Integer, String> MEANINGS = Map.ofEntries(
            Map.entry(EPERM, "not permitted"),
            Map.entry(ENOENT, "no such file"),
            Map.entry(ESRCH, "no such process"),
            Map.entry(EACCES, "permission denied"),
            Map.entry(EEXIST, "exists already"),
            Map.entry(6, "no such device, or a pipe without a reader"),
            Map.entry(ENOTDIR, "not a directory"),
            Map.entry(21, "is a directory"),
            Map.entry(22, "invalid argument"),
            Map.entry(27, "file too large"),
            Map.entry(28, "no space left on the device"),
            Map.entry(30, "read-only file system"),
            Map.entry(38, "not known to this kernel"),
            Map.entry(ELOOP, "is a symbolic link"),
            Map.entry(122, "disk quota exceeded"));

    private final int number;

    public Errno(String call, int number) {
        super(call + ": " + MEANINGS.getOrDefault(number, "error") + " (errno " + number + ")");
        this.number = number;
    }

    public boolean is(int other) {
        return number == other;
    }

    /** Returns the exception that Java's own methods throw for a file. */
    IOException of(String file) {
        return switch (number) {
            case ENOENT -> new NoSuchFileException(file);
            case EACCES -> new AccessDeniedException(file);
            default -> new FileSystemException(file, null, getMessage());
        };
    }
}

package dev.genv.enforcer.linux;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.util.Map;

/** A system call failed. It has no stack trace, because many calls of each cycle are expected to fail. */
public final class Errno extends IOException {
    public static final int EPERM = 1;
    public static final int ENOENT = 2;
    public static final int ESRCH = 3;
    public static final int EINTR = 4;
    public static final int EAGAIN = 11;
    public static final int EACCES = 13;
    public static final int EEXIST = 17;
    public static final int ENOTDIR = 20;
    public static final int EINVAL = 22;
    public static final int ENAMETOOLONG = 36;
    public static final int ELOOP = 40;
    private static final long serialVersionUID = 1L;

    /** The texts of strerror(3). The numbers are the same on all Linux architectures that JDK 25 supports. */
    private static final Map<Integer, String> TEXTS = Map.ofEntries(
            Map.entry(EPERM, "Operation not permitted"),
            Map.entry(ENOENT, "No such file or directory"),
            Map.entry(ESRCH, "No such process"),
            Map.entry(5, "Input/output error"),
            Map.entry(6, "No such device or address"),
            Map.entry(7, "Argument list too long"),
            Map.entry(8, "Exec format error"),
            Map.entry(9, "Bad file descriptor"),
            Map.entry(EAGAIN, "Resource temporarily unavailable"),
            Map.entry(12, "Cannot allocate memory"),
            Map.entry(EACCES, "Permission denied"),
            Map.entry(16, "Device or resource busy"),
            Map.entry(EEXIST, "File exists"),
            Map.entry(ENOTDIR, "Not a directory"),
            Map.entry(21, "Is a directory"),
            Map.entry(EINVAL, "Invalid argument"),
            Map.entry(23, "Too many open files in system"),
            Map.entry(24, "Too many open files"),
            Map.entry(26, "Text file busy"),
            Map.entry(27, "File too large"),
            Map.entry(28, "No space left on device"),
            Map.entry(30, "Read-only file system"),
            Map.entry(36, "File name too long"),
            Map.entry(38, "Function not implemented"),
            Map.entry(ELOOP, "Too many levels of symbolic links"),
            Map.entry(95, "Operation not supported"),
            Map.entry(107, "Transport endpoint is not connected"),
            Map.entry(110, "Connection timed out"),
            Map.entry(112, "Host is down"),
            Map.entry(113, "No route to host"),
            Map.entry(116, "Stale file handle"),
            Map.entry(121, "Remote I/O error"),
            Map.entry(122, "Disk quota exceeded"));

    private final int number;

    public Errno(String call, int number) {
        super(call + ": " + TEXTS.getOrDefault(number, "error") + " (errno " + number + ")");
        this.number = number;
    }

    @Override
    public synchronized Throwable fillInStackTrace() {
        return this;
    }

    String text() {
        return TEXTS.getOrDefault(number, "Unknown error " + number);
    }

    /**
     * Returns the kernel's text of an error, without a path; the message of an error that is not the kernel's. Java's messages
     * lack that text for the most frequent errors, and name the path instead.
     */
    public static String textOf(IOException error) {
        return switch (error) {
            case Errno errno -> errno.text();
            case NoSuchFileException _ -> "No such file or directory";
            case AccessDeniedException _ -> "Permission denied";
            case NotDirectoryException _ -> "Not a directory";
            case FileSystemException other when other.getReason() != null -> other.getReason();
            default -> String.valueOf(error.getMessage());
        };
    }

    public boolean is(int other) {
        return number == other;
    }

    /** Returns the exception that Java's own methods throw for a file. */
    IOException of(String file) {
        return switch (number) {
            case ENOENT -> new NoSuchFileException(file);
            case EACCES -> new AccessDeniedException(file);
            default -> new FileSystemException(file, null, text());
        };
    }
}

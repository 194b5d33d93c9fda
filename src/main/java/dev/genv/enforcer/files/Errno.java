package dev.genv.enforcer.node;

import java.io.IOException;
import java.util.Map;

/** A system call that failed. */
final class Errno extends IOException {
    static final int EPERM = 1;
    static final int ENOENT = 2;
    static final int ESRCH = 3;
    static final int EINTR = 4;
    static final int EAGAIN = 11;
    static final int EACCES = 13;
    static final int EEXIST = 17;
    static final int ENOTDIR = 20;
    static final int ELOOP = 40;
    private static final long serialVersionUID = 1L;

    /** The numbers are the same on all of Linux's architectures that a JDK 25 runs on. */
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

    Errno(String call, int number) {
        super(call + ": " + MEANINGS.getOrDefault(number, "error") + " (errno " + number + ")");
        this.number = number;
    }

    boolean is(int other) {
        return number == other;
    }
}

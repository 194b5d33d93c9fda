package dev.genv.enforcer.node;

import dev.genv.enforcer.files.FileStatus;
import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** genv's lock could not be had. */
final class LockException extends IOException {
    private static final long serialVersionUID = 1L;

    private final String code;
    private final transient @Nullable FileStatus file;

    private LockException(String code, @Nullable FileStatus file, String message, @Nullable Throwable cause) {
        super(GenvLock.NAME + " " + message, cause);
        this.code = code;
        this.file = file;
    }

    /** Somebody held it for longer than we wait. */
    static LockException timeout(Duration waited, FileStatus file) {
        return new LockException(
                "lock_timeout",
                file,
                "is held by another program, for longer than %d ms".formatted(waited.toMillis()),
                null);
    }

    /** What stands in its place cannot be locked. */
    static LockException unusable(String why, @Nullable Throwable cause) {
        return new LockException("lock_unusable", null, why, cause);
    }

    /** The word for programs. */
    String code() {
        return code;
    }

    /** The file that somebody holds; null where nobody does. */
    @Nullable
    FileStatus file() {
        return file;
    }
}

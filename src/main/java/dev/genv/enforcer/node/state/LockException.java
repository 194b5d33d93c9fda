package dev.genv.enforcer.node.state;

import dev.genv.enforcer.linux.FileStatus;
import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** genv's lock is not available. */
final class LockException extends IOException {
    private static final long serialVersionUID = 1L;

    private final String reason;
    private final transient @Nullable FileStatus file;

    private LockException(@Nullable FileStatus file, String reason, @Nullable Throwable cause) {
        super(GenvLock.NAME + " " + reason, cause);
        this.reason = reason;
        this.file = file;
    }

    /** Another program held the lock for longer than the time limit. */
    static LockException timeout(Duration waited, FileStatus file) {
        return new LockException(
                file, "is held by another program, for longer than %d ms".formatted(waited.toMillis()), null);
    }

    /** The lock file cannot be locked. */
    static LockException unusable(String why, @Nullable Throwable cause) {
        return new LockException(null, why, cause);
    }

    /** Returns the reason as a clause without a subject. */
    String reason() {
        return reason;
    }

    /** The file that another program holds; null if none does. */
    @Nullable
    FileStatus file() {
        return file;
    }
}

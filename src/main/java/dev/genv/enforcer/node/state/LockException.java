package dev.genv.enforcer.node.state;

import dev.genv.enforcer.files.FileStatus;
import dev.genv.enforcer.model.ProblemCode;
import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** genv's lock is not available. */
final class LockException extends IOException {
    private static final long serialVersionUID = 1L;

    private final ProblemCode code;
    private final transient @Nullable FileStatus file;

    private LockException(ProblemCode code, @Nullable FileStatus file, String message, @Nullable Throwable cause) {
        super(GenvLock.NAME + " " + message, cause);
        this.code = code;
        this.file = file;
    }

    /** Another program held the lock for longer than the time limit. */
    static LockException timeout(Duration waited, FileStatus file) {
        return new LockException(
                ProblemCode.LOCK_TIMEOUT,
                file,
                "is held by another program, for longer than %d ms".formatted(waited.toMillis()),
                null);
    }

    /** The lock file cannot be locked. */
    static LockException unusable(String why, @Nullable Throwable cause) {
        return new LockException(ProblemCode.LOCK_UNUSABLE, null, why, cause);
    }

    ProblemCode code() {
        return code;
    }

    /** The file that another program holds; null if none does. */
    @Nullable
    FileStatus file() {
        return file;
    }
}

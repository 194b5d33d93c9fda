package dev.genv.enforcer.node;

import java.io.IOException;
import java.time.Duration;

/** Somebody held genv's lock for longer than we wait. */
final class LockTimeoutException extends IOException {
    private static final long serialVersionUID = 1L;

    LockTimeoutException(Duration waited) {
        super("%s is held by another program, for longer than %d ms".formatted(GenvLock.NAME, waited.toMillis()));
    }
}

package dev.genv.enforcer.node.proc;

import java.io.IOException;

/** A process was not read, because no time or no thread was left. */
final class NotReadException extends IOException {
    private static final long serialVersionUID = 1L;

    NotReadException(String message) {
        super(message);
    }
}

package dev.genv.enforcer.node;

import java.io.IOException;

/** A file that somebody else can have put where it is. The message says who or where. */
final class UntrustedException extends IOException {
    private static final long serialVersionUID = 1L;

    UntrustedException(String message) {
        super(message);
    }
}

package dev.genv.enforcer.files;

import java.io.IOException;

/** A user other than the trusted ones may have replaced the file. The message says which user or where. */
public final class UntrustedException extends IOException {
    private static final long serialVersionUID = 1L;

    public UntrustedException(String message) {
        super(message);
    }
}

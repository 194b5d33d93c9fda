package dev.genv.enforcer.node.proc;

import java.io.IOException;

/** The kernel cannot read the memory of a process at this moment, or ever. */
public final class ReadTimeoutException extends IOException {
    private static final long serialVersionUID = 1L;

    ReadTimeoutException() {
        super("it does not answer");
    }
}

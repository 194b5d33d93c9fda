package dev.genv.enforcer.node;

import java.io.IOException;

/** A process whose memory the kernel cannot read at this moment, and may never be able to. */
final class NoAnswerException extends IOException {
    private static final long serialVersionUID = 1L;

    NoAnswerException() {
        super("it does not answer");
    }
}

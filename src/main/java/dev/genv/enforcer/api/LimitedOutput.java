package dev.genv.enforcer.api;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/** Takes bytes up to a limit. */
final class LimitedOutput extends OutputStream {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final int limit;

    LimitedOutput(int limit) {
        this.limit = limit;
    }

    /** There were more bytes than there may be. */
    static final class FullException extends IOException {
        private static final long serialVersionUID = 1L;

        private FullException(int limit) {
            super("more than " + limit + " bytes");
        }
    }

    @Override
    public void write(int next) throws FullException {
        write(new byte[] {(byte) next}, 0, 1);
    }

    @Override
    public void write(byte[] from, int offset, int length) throws FullException {
        if (bytes.size() + (long) length > limit) {
            throw new FullException(limit);
        }
        bytes.write(from, offset, length);
    }

    byte[] toByteArray() {
        return bytes.toByteArray();
    }
}

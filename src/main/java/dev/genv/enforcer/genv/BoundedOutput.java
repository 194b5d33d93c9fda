package dev.genv.enforcer.genv;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/** Collects bytes up to a limit, and fails above it. */
public final class BoundedOutput extends OutputStream {
    private final int maxBytes;
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    public static final class FullException extends IOException {
        private static final long serialVersionUID = 1L;

        private FullException(int maxBytes) {
            super("more than %d bytes".formatted(maxBytes));
        }
    }

    public BoundedOutput(int maxBytes) {
        this.maxBytes = maxBytes;
    }

    @Override
    public void write(int one) throws FullException {
        write(new byte[] {(byte) one}, 0, 1);
    }

    @Override
    public void write(byte[] more, int from, int length) throws FullException {
        if (length > maxBytes - bytes.size()) {
            throw new FullException(maxBytes);
        }
        bytes.write(more, from, length);
    }

    public byte[] toByteArray() {
        return bytes.toByteArray();
    }
}

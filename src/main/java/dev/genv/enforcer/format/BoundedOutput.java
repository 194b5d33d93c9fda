package dev.genv.enforcer.format;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/** Collects bytes, and fails where there are too many. */
public final class BoundedOutput extends OutputStream {
    private final int mostBytes;
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    /** There were more bytes than there may be. */
    public static final class FullException extends IOException {
        private static final long serialVersionUID = 1L;

        private FullException(int mostBytes) {
            super("more than %d bytes".formatted(mostBytes));
        }
    }

    public BoundedOutput(int mostBytes) {
        this.mostBytes = mostBytes;
    }

    @Override
    public void write(int one) throws FullException {
        write(new byte[] {(byte) one}, 0, 1);
    }

    @Override
    public void write(byte[] more, int from, int length) throws FullException {
        if (length > mostBytes - bytes.size()) {
            throw new FullException(mostBytes);
        }
        bytes.write(more, from, length);
    }

    public byte[] toByteArray() {
        return bytes.toByteArray();
    }
}

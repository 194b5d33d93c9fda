package dev.genv.enforcer.format;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/** Collects bytes, and fails where there are too many. */
final class BoundedOutput extends OutputStream {
    private final int mostBytes;
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    BoundedOutput(int mostBytes) {
        this.mostBytes = mostBytes;
    }

    @Override
    public void write(int one) throws IOException {
        write(new byte[] {(byte) one}, 0, 1);
    }

    @Override
    public void write(byte[] more, int from, int length) throws IOException {
        if (length > mostBytes - bytes.size()) {
            throw new IOException("more than %d bytes".formatted(mostBytes));
        }
        bytes.write(more, from, length);
    }

    byte[] toByteArray() {
        return bytes.toByteArray();
    }
}

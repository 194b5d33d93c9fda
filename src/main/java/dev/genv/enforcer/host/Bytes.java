package dev.genv.enforcer.host;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Bytes that the kernel or a user wrote, with a value's equality. In JSON they are base64. */
public final class Bytes {
    public static final Bytes EMPTY = new Bytes(new byte[0]);

    private final byte[] bytes;

    private Bytes(byte[] bytes) {
        this.bytes = bytes;
    }

    /** Wraps an array, which must not be changed afterwards: state files have megabytes. */
    public static Bytes of(byte[] bytes) {
        return new Bytes(bytes);
    }

    /** Returns the array itself, which must not be changed. */
    public byte[] array() {
        return bytes;
    }

    public int length() {
        return bytes.length;
    }

    /** Decodes UTF-8; a byte that is none becomes U+FFFD. */
    public String text() {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Bytes that && Arrays.equals(bytes, that.bytes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes);
    }

    @Override
    public String toString() {
        return "%d bytes".formatted(bytes.length);
    }
}

package dev.genv.enforcer.linux;

import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Sha256;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.stream.IntStream;

/** Parses {@code /proc/PID/environ}: entries that end in a zero byte, with arbitrary content. */
public final class Environ {
    private static final byte[] VARIABLE = "GENV_ENVIRONMENT_ID=".getBytes(StandardCharsets.US_ASCII);

    /** genv's own ids are pids and the ids of Jupyter kernels. */
    private static final int LONGEST_ID = 4096;

    private Environ() {}

    /** Returns the value of the last {@code GENV_ENVIRONMENT_ID}, empty if there is none. */
    public static byte[] value(byte[] environ) {
        byte[] id = {};
        for (int start = 0, end; start < environ.length; start = end + 1) {
            end = start;
            while (end < environ.length && environ[end] != 0) {
                end++;
            }
            if (startsWith(environ, start, end, VARIABLE)) {
                id = Arrays.copyOfRange(environ, start + VARIABLE.length, end);
            }
        }
        return id;
    }

    /**
     * Whether every entry is a name that is not empty, an equals sign, and a value, and the last one ends with a zero byte. An empty
     * environ is.
     */
    public static boolean isWellFormed(byte[] environ) {
        var hasName = false; // the entry so far has a name and an equals sign
        var start = 0;
        for (var i = 0; i < environ.length; i++) {
            if (environ[i] == 0) {
                if (!hasName) {
                    return false;
                }
                hasName = false;
                start = i + 1;
            } else if (environ[i] == '=' && i > start) {
                hasName = true;
            }
        }
        return start == environ.length;
    }

    /** Whether it is a single string, as a title is that extends from the arguments into it. */
    public static boolean isOneString(byte[] environ) {
        return environ.length > 0 && IntStream.range(0, environ.length - 1).noneMatch(i -> environ[i] == 0);
    }

    public static Membership named(byte[] id) {
        return named(id, id.length > LONGEST_ID ? Sha256.hex(id) : "");
    }

    /**
     * Returns the membership for a value of the variable.
     *
     * @param id of a value of more than 4096 bytes, these many at least
     * @param digest the SHA-256 of such a value in hexadecimal; otherwise empty
     */
    public static Membership named(byte[] id, String digest) {
        return id.length == 0 ? new Membership.Outside() : new Membership.InEnvironment(text(id, digest));
    }

    private static boolean startsWith(byte[] environ, int start, int end, byte[] variable) {
        return end - start >= variable.length
                && Arrays.equals(environ, start, start + variable.length, variable, 0, variable.length);
    }

    /**
     * Returns the id as text. An id that is not UTF-8 becomes a text that no environment has as its id: an unknown membership would
     * protect the process.
     */
    private static String text(byte[] id, String digest) {
        if (!digest.isEmpty()) {
            // Every violation would keep the whole text; a digest identifies it.
            return "too-long:" + new String(id, 0, Math.min(id.length, 32), StandardCharsets.ISO_8859_1) + ":" + digest;
        }
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(id))
                    .toString();
        } catch (CharacterCodingException e) {
            return "not-utf-8:" + HexFormat.of().formatHex(id);
        }
    }
}

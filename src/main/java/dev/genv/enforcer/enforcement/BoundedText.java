package dev.genv.enforcer.enforcement;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** Stands for a text whose length users choose: it is short, and equal only where the texts are. */
final class BoundedText {
    private static final int LONGEST = 64;

    private BoundedText() {}

    /** A short text itself, and the digest of a long one. */
    static String of(String text) {
        return text.length() <= LONGEST ? text : "sha256:" + digest(text);
    }

    private static String digest(String text) {
        try {
            var digest = MessageDigest.getInstance("SHA-256");
            return HexFormat.of().formatHex(digest.digest(text.getBytes(StandardCharsets.UTF_16BE)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }
}

package dev.genv.enforcer.model;

import java.nio.charset.StandardCharsets;

/** Replaces a text whose length users choose by a short one. Two results are equal only if the texts are equal. */
public final class BoundedText {
    private static final int LONGEST = 64;

    private BoundedText() {}

    /** Returns a short text unchanged, and the digest of a long one. */
    public static String of(String text) {
        return text.length() <= LONGEST ? text : "sha256:" + Sha256.hex(text.getBytes(StandardCharsets.UTF_16BE));
    }
}

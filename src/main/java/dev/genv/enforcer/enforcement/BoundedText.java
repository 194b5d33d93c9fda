package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Sha256;
import java.nio.charset.StandardCharsets;

/** Stands for a text whose length users choose: it is short, and equal only where the texts are. */
final class BoundedText {
    private static final int LONGEST = 64;

    private BoundedText() {}

    /** A short text itself, and the digest of a long one. */
    static String of(String text) {
        return text.length() <= LONGEST ? text : "sha256:" + Sha256.hex(text.getBytes(StandardCharsets.UTF_16BE));
    }
}

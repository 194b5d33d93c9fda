package dev.genv.enforcer.model;

import java.nio.charset.StandardCharsets;

/** Text that users wrote, made safe for a terminal, a log and a message. */
public final class SafeText {
    /** The longest text in characters: ids and names are shown to people. */
    private static final int LONGEST = 128;

    private static final int LONGEST_BOUNDED = 64;
    /** The longest text that is stored; a message with several ids is shorter. */
    private static final int LONGEST_STORED = 512;

    private static final int DIGEST_LENGTH = 71;

    private SafeText() {}

    /** Escapes control characters and the like, so that the text stays on one line, and cuts it to 128 characters. */
    public static String escape(String text) {
        return escape(text, LONGEST);
    }

    /** Escapes a text in the same way, and cuts it to this length. */
    public static String escape(String text, int longest) {
        var escaped = new StringBuilder();
        text.codePoints().limit(longest).forEach(point -> {
            if (isPrintable(point)) {
                escaped.appendCodePoint(point);
            } else {
                escaped.append(point > 0xFFFF ? "\\U%08x".formatted(point) : "\\u%04x".formatted(point));
            }
        });
        return text.codePointCount(0, text.length()) > longest
                ? escaped.append('…').toString()
                : escaped.toString();
    }

    /** Returns the escaped text in double quotes, for programs: no text can end the quotes or imitate an escape. */
    public static String quote(String text) {
        return '"' + escape(text.replace("\\", "\\u005c").replace('"', '\'')) + '"';
    }

    private static boolean isPrintable(int point) {
        return switch (Character.getType(point)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.SURROGATE,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR,
                    Character.PRIVATE_USE,
                    Character.UNASSIGNED -> false;
            default -> true;
        };
    }

    /**
     * Replaces a text whose length users choose by a short one: its digest, if it is long. Two results are equal only if the
     * texts are equal.
     */
    public static String bounded(String text) {
        return text.length() <= LONGEST_BOUNDED ? text : digest(text);
    }

    /** Cuts a text whose length users choose, and adds its digest, so that two results are equal only if the texts are. */
    public static String cut(String text) {
        if (text.length() <= LONGEST_STORED) {
            return text;
        }
        var end = LONGEST_STORED - DIGEST_LENGTH - 1;
        return text.substring(0, Character.isHighSurrogate(text.charAt(end - 1)) ? end - 1 : end) + "…" + digest(text);
    }

    private static String digest(String text) {
        return "sha256:" + Sha256.hex(text.getBytes(StandardCharsets.UTF_16BE));
    }
}

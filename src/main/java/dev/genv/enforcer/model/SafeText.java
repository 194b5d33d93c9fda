package dev.genv.enforcer.model;

/** Text that users wrote, made safe for a terminal, a log and a message. */
public final class SafeText {
    /** The longest text in characters: ids and names are shown to people. */
    private static final int LONGEST = 128;

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
}

package dev.genv.enforcer.telemetry.genv;

import dev.genv.enforcer.model.SafeText;

/** Text that users chose, as the value of a label. */
final class LabelText {
    /** In characters, after the escapes: with the number of series it bounds the size of a scrape. */
    static final int LONGEST = 64;

    private LabelText() {}

    /** Escapes control characters and the like, and cuts the text. */
    static String of(String text) {
        var escaped = SafeText.escape(text, LONGEST);
        if (escaped.length() <= LONGEST) {
            return escaped;
        }
        return escaped.substring(0, Character.isHighSurrogate(escaped.charAt(LONGEST - 1)) ? LONGEST - 1 : LONGEST);
    }
}

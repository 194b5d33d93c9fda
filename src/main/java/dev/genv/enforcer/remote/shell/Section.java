package dev.genv.enforcer.remote.shell;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;

/**
 * A line of ours within a text that is not, and what follows it there up to the next one.
 *
 * @param content a char a byte
 */
record Section(String word, List<String> words, String content) {
    /** More than any has; what is more stays in the last one. */
    private static final int MOST_WORDS = 8;

    private static final Pattern PID = Pattern.compile("[0-9]{1,9}");

    /** Those of a text; a last one that does not end is not there yet. */
    static List<Section> in(String text, String nonce) {
        var sign = "@" + nonce + " ";
        var marks = new ArrayList<Section>();
        var at = next(text, sign, 0);
        while (at >= 0) {
            var end = text.indexOf('\n', at);
            if (end < 0) {
                break;
            }
            var next = next(text, sign, end);
            var words = Arrays.asList(text.substring(at + sign.length(), end).split(" ", MOST_WORDS));
            marks.add(new Section(
                    words.getFirst(),
                    words.subList(1, words.size()),
                    content(text.substring(end + 1, next < 0 ? text.length() : next))));
            at = next;
        }
        return marks;
    }

    /** The pid that it is about; -1, which nobody has, where it is about none. */
    int pid() {
        return !words.isEmpty() && PID.matcher(words.getFirst()).matches() ? Integer.parseInt(words.getFirst()) : -1;
    }

    /** The word behind the pid, or nothing. */
    String word(int place) {
        return place < words.size() ? words.get(place) : "";
    }

    private static int next(String text, String sign, int from) {
        if (from == 0 && text.startsWith(sign)) {
            return 0;
        }
        var at = text.indexOf("\n" + sign, from);
        return at < 0 ? at : at + 1;
    }

    private static String content(String text) {
        return text.endsWith("\n") ? text.substring(0, text.length() - 1) : text;
    }
}

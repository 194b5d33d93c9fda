package dev.genv.enforcer.remote;

import dev.genv.enforcer.enforcement.UnreachableException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;

/** A line that a script of ours said. */
record Frame(String word, List<String> words) {
    static Frame parse(String line) {
        var words = Arrays.asList(line.split(" ", -1));
        return new Frame(words.getFirst(), words.subList(1, words.size()));
    }

    /** The word at a place. */
    String at(int place) throws UnreachableException {
        if (place >= words.size()) {
            throw unreadable("in " + word + " there is too little");
        }
        return words.get(place);
    }

    /** All words from a place on. */
    String from(int place) throws UnreachableException {
        at(place);
        return String.join(" ", words.subList(place, words.size()));
    }

    long number(int place) throws UnreachableException {
        try {
            return Long.parseLong(at(place));
        } catch (NumberFormatException e) {
            throw unreadable("in " + word + " there is no number where one should be");
        }
    }

    /** The bytes at the end of it, of which the word in front is the length in base64. */
    byte[] bytes() throws UnreachableException {
        var text = words.isEmpty() ? "" : words.getLast();
        if (words.size() < 2 || number(words.size() - 2) != text.length()) {
            throw unreadable("of " + word + " something is lost");
        }
        return decoded(text);
    }

    /** The same, a char a byte. */
    String text() throws UnreachableException {
        return new String(bytes(), StandardCharsets.ISO_8859_1);
    }

    /** The text in base64 at its beginning, of which nobody could tell the length; a dot stands behind it. */
    String stream() throws UnreachableException {
        if (words.size() != 2 || !words.getLast().equals(".")) {
            throw unreadable("of " + word + " something is lost");
        }
        return new String(decoded(words.getFirst()), StandardCharsets.ISO_8859_1);
    }

    private byte[] decoded(String text) throws UnreachableException {
        try {
            return Base64.getDecoder().decode(text);
        } catch (IllegalArgumentException e) {
            throw unreadable(word + " is not base64");
        }
    }

    static UnreachableException unreadable(String why) {
        return new UnreachableException("answer_unreadable", "its answer cannot be read: " + why);
    }
}

package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.BitSet;
import java.util.List;

/**
 * A line that a script of ours said. Its words are looked for only when they are asked for: millions of them fit into it.
 *
 * @param line as it came, without the mark in front
 */
record Frame(String line) {
    /** More than any line has of which all words are wanted, but for those that are numbers. */
    private static final int MOST_WORDS = 64;
    /** PID_MAX_LIMIT of linux/threads.h: the kernel gives no pid beyond it. */
    private static final int MOST_NUMBERS = 4 << 20;

    /** The first word, which tells what it is about; the others are counted from behind it. */
    String word() {
        var end = line.indexOf(' ');
        return end < 0 ? line : line.substring(0, end);
    }

    /** All the others. */
    List<String> words() throws UnreachableException {
        var words = Arrays.asList(line.split(" ", MOST_WORDS + 2));
        if (words.size() > MOST_WORDS + 1) {
            throw unreadable("in " + word() + " there is too much");
        }
        return words.subList(1, words.size());
    }

    /** The word at a place. */
    String at(int place) throws UnreachableException {
        var start = start(place);
        var end = line.indexOf(' ', start);
        return line.substring(start, end < 0 ? line.length() : end);
    }

    /** All words from a place on. */
    String from(int place) throws UnreachableException {
        return line.substring(start(place));
    }

    private int start(int place) throws UnreachableException {
        var start = 0;
        for (var i = 0; i <= place; i++) {
            start = line.indexOf(' ', start) + 1;
            if (start == 0) {
                throw unreadable("in " + word() + " there is too little");
            }
        }
        return start;
    }

    long number(int place) throws UnreachableException {
        return number(at(place), word());
    }

    static long number(String text, String word) throws UnreachableException {
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException e) {
            throw unreadable("in " + word + " there is no number where one should be");
        }
    }

    /** All words, each the number of a process. */
    BitSet pids() throws UnreachableException {
        var pids = new BitSet();
        for (int space = line.indexOf(' '), next; space >= 0; space = next) {
            next = line.indexOf(' ', space + 1);
            var pid = number(line.substring(space + 1, next < 0 ? line.length() : next), word());
            if (pid < 0 || pid > MOST_NUMBERS) {
                throw unreadable("in " + word() + " there is a number that no process has");
            }
            pids.set((int) pid);
        }
        return pids;
    }

    /** The bytes at the end of it, of which the word in front is the length in base64. */
    byte[] bytes() throws UnreachableException {
        var last = line.lastIndexOf(' ');
        var before = last < 0 ? -1 : line.lastIndexOf(' ', last - 1);
        if (before < 0 || number(line.substring(before + 1, last), word()) != line.length() - last - 1) {
            throw unreadable("of " + word() + " something is lost");
        }
        return decoded(line.substring(last + 1));
    }

    /** The same, of which there may be no more than so many. */
    byte[] bytes(int most) throws UnreachableException {
        var bytes = bytes();
        if (bytes.length > most) {
            throw unreadable(word() + " is longer than it can be");
        }
        return bytes;
    }

    /** The same, a char a byte. */
    String text() throws UnreachableException {
        return new String(bytes(), StandardCharsets.ISO_8859_1);
    }

    /** The text in base64 at its beginning, of which nobody could tell the length; a dot stands behind it. */
    String stream() throws UnreachableException {
        var start = start(0);
        if (!line.endsWith(" .") || line.indexOf(' ', start) != line.length() - 2) {
            throw unreadable("of " + word() + " something is lost");
        }
        return new String(decoded(line.substring(start, line.length() - 2)), StandardCharsets.ISO_8859_1);
    }

    private byte[] decoded(String text) throws UnreachableException {
        try {
            return Base64.getDecoder().decode(text);
        } catch (IllegalArgumentException e) {
            throw unreadable(word() + " is not base64");
        }
    }

    static UnreachableException unreadable(String why) {
        return new UnreachableException(ProblemCode.ANSWER_UNREADABLE, "its answer cannot be read: " + why);
    }
}

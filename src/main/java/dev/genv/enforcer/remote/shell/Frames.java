package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The lines that a script of ours said, told from all else that a login may say by a word that it alone knew.
 *
 * @param byWord those that begin with the same word, in their order
 * @param complete whether they are all that it had to say
 */
record Frames(Map<String, List<Frame>> byWord, boolean complete) {
    private static final String END = "end";
    /** More than any script of ours says. */
    private static final int MOST = 20_000;

    /** Finds them; a last line that does not end is not there yet. */
    static Frames parse(String output, String nonce) throws UnreachableException {
        var mark = "@" + nonce + " ";
        var byWord = new HashMap<String, List<Frame>>();
        var count = 0;
        for (int start = 0, end; (end = output.indexOf('\n', start)) >= 0; start = end + 1) {
            if (output.startsWith(mark, start)) {
                if (byWord.containsKey(END)) {
                    throw Frame.unreadable("it is not whole");
                }
                var frame = new Frame(output.substring(start + mark.length(), end));
                byWord.computeIfAbsent(frame.word(), _ -> new ArrayList<>()).add(frame);
                count++;
            }
            if (count > MOST) {
                throw Frame.unreadable("it has too many lines");
            }
        }
        var end = byWord.get(END);
        if (end != null && end.getFirst().number(0) != count) {
            throw Frame.unreadable("it is not whole");
        }
        return new Frames(byWord, end != null);
    }

    /** The only one that begins with this word. */
    Frame one(String word) throws UnreachableException {
        return find(word).orElseThrow(() -> Frame.unreadable(word + " is missing"));
    }

    /** The same, where there may be none. */
    Optional<Frame> find(String word) throws UnreachableException {
        var found = every(word);
        if (found.size() > 1) {
            throw Frame.unreadable(word + " is there twice");
        }
        return found.stream().findFirst();
    }

    boolean hasNone(String word) {
        return every(word).isEmpty();
    }

    List<Frame> every(String word) {
        return Collections.unmodifiableList(byWord.getOrDefault(word, List.of()));
    }
}

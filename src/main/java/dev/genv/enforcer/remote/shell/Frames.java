package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.UnreachableException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The lines that a script of ours said, told from all else that a login may say by a word that it alone knew.
 *
 * @param complete whether they are all that it had to say
 */
record Frames(List<Frame> all, boolean complete) {
    private static final String END = "end";
    /** More than any script of ours says. */
    private static final int MOST = 20_000;

    /** Finds them; a last line that does not end is not there yet. */
    static Frames parse(String output, String nonce) throws UnreachableException {
        var mark = "@" + nonce + " ";
        var frames = new ArrayList<Frame>();
        for (int start = 0, end; (end = output.indexOf('\n', start)) >= 0; start = end + 1) {
            if (output.startsWith(mark, start)) {
                frames.add(new Frame(output.substring(start + mark.length(), end)));
            }
            if (frames.size() > MOST) {
                throw Frame.unreadable("it has too many lines");
            }
        }
        for (var frame : frames) {
            if (frame.word().equals(END) && (!frame.equals(frames.getLast()) || frame.number(0) != frames.size())) {
                throw Frame.unreadable("it is not whole");
            }
        }
        return new Frames(
                List.copyOf(frames),
                !frames.isEmpty() && frames.getLast().word().equals(END));
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
        return all.stream().filter(frame -> frame.word().equals(word)).toList();
    }
}

package dev.genv.enforcer.node;

import dev.genv.enforcer.files.Errno;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;

/** The names of unfinished files, and what becomes of those that a run left behind when it was killed. */
final class Leftovers {
    private static final String MARK = ".genv-enforcer-";
    private static final Pattern NAME = Pattern.compile(Pattern.quote("." + RawState.DEVICES + MARK) + "[0-9a-f]{16}");

    private Leftovers() {}

    /** A name for the unfinished content of a file. */
    static String newName(String file) {
        return "." + file + MARK
                + HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong());
    }

    /** Those that are there now. One of them may be another enforcer's at work, unless genv's lock is held. */
    static List<String> in(StateDirectory directory) throws IOException {
        return directory.names().stream()
                .filter(name -> NAME.matcher(name).matches())
                .toList();
    }

    /**
     * Removes them; genv's lock must be held. What cannot be removed, such as a directory, is not ours.
     *
     * @return the names of those that are gone
     */
    static List<String> remove(StateDirectory directory) throws IOException {
        var removed = new ArrayList<String>();
        for (var name : in(directory)) {
            try {
                directory.remove(name);
                removed.add(name);
            } catch (Errno _) {
                // A directory of that name is somebody else's joke: it harms nobody.
            }
        }
        return removed;
    }
}

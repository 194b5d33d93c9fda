package dev.genv.enforcer.node.state;

import dev.genv.enforcer.linux.Errno;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;

/** The names of temporary files, and the removal of those that a killed run left behind. */
final class TempFiles {
    private static final String MARK = ".genv-enforcer-";
    private static final Pattern NAME = Pattern.compile(Pattern.quote("." + StatePair.DEVICES + MARK) + "[0-9a-f]{16}");

    private TempFiles() {}

    /** Returns a new temporary name for a file. */
    static String newName(String file) {
        return "." + file + MARK
                + HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong());
    }

    /** Returns the present temporary files. Another enforcer may be writing one of them unless genv's lock is held. */
    static List<String> list(StateDirectory directory) throws IOException {
        return directory.names().stream()
                .filter(name -> NAME.matcher(name).matches())
                .toList();
    }

    /**
     * Removes them; genv's lock must be held. An entry that cannot be removed, such as a directory, is ignored.
     *
     * @return the removed names
     */
    static List<String> remove(StateDirectory directory) throws IOException {
        var removed = new ArrayList<String>();
        for (var name : list(directory)) {
            try {
                directory.remove(name);
                removed.add(name);
            } catch (Errno _) {
                // A directory with such a name belongs to a user and is harmless.
            }
        }
        return removed;
    }
}

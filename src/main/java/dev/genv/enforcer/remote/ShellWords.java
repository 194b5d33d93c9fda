package dev.genv.enforcer.remote;

import java.util.regex.Pattern;

/** Words of a command, so that the shell of any host takes each for what it is. */
public final class ShellWords {
    private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9_/.:=,+@-]+");

    private ShellWords() {}

    /**
     * One word, in single quotes where it needs them.
     *
     * @throws IllegalArgumentException where no shell could be told it, for there is a zero byte in it
     */
    public static String quote(String word) {
        if (word.indexOf('\0') >= 0) {
            throw new IllegalArgumentException("a zero byte cannot be part of a command");
        }
        return PLAIN.matcher(word).matches() ? word : "'" + word.replace("'", "'\\''") + "'";
    }
}

package dev.genv.enforcer.remote;

/** Quotes words of a command line for the shell of any machine. */
public final class ShellWords {
    private static final String PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/.:=,+@-";

    private ShellWords() {}

    /**
     * Quotes a word with single quotes if it needs them.
     *
     * @throws IllegalArgumentException if the word contains a zero byte, which no shell can receive
     */
    public static String quote(String word) {
        if (word.indexOf('\0') >= 0) {
            throw new IllegalArgumentException("a zero byte cannot be part of a command");
        }
        return isPlain(word) ? word : "'" + word.replace("'", "'\\''") + "'";
    }

    /** A loop instead of a pattern, because some thirty words are checked for each machine in each cycle. */
    private static boolean isPlain(String word) {
        return !word.isEmpty() && word.chars().allMatch(each -> PLAIN.indexOf(each) >= 0);
    }
}

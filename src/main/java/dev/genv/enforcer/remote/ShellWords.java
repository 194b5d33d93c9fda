package dev.genv.enforcer.remote;

/** Words of a command, so that the shell of any host takes each for what it is. */
public final class ShellWords {
    private static final String PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/.:=,+@-";

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
        return isPlain(word) ? word : "'" + word.replace("'", "'\\''") + "'";
    }

    /** Asked of some thirty words for every machine in every cycle. */
    private static boolean isPlain(String word) {
        return !word.isEmpty() && word.chars().allMatch(each -> PLAIN.indexOf(each) >= 0);
    }
}

package dev.genv.enforcer.genv;

/** A text is invalid. The message is the end of a sentence that begins with the name of the text. */
public class UnreadableException extends Exception {
    private static final long serialVersionUID = 1L;

    public UnreadableException(String message) {
        super(message);
    }

    /** Its values would take more memory than the limit. */
    public static final class TooLarge extends UnreadableException {
        private static final long serialVersionUID = 1L;

        TooLarge(String message) {
            super(message);
        }
    }
}

package dev.genv.enforcer.format;

/** Text that is not what it should be. The message says why, as the end of a sentence that begins with its name. */
public final class UnreadableException extends Exception {
    private static final long serialVersionUID = 1L;

    public UnreadableException(String message) {
        super(message);
    }
}

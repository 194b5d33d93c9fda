package dev.genv.enforcer.notification.mail;

/** A mail was not accepted. */
final class MailException extends Exception {
    private static final long serialVersionUID = 1L;

    /** Whether the server refuses the mail permanently. */
    private final boolean permanent;

    MailException(String message, boolean permanent) {
        super(message);
        this.permanent = permanent;
    }

    boolean isPermanent() {
        return permanent;
    }

    /** The reason as a clause. */
    String reason() {
        return String.valueOf(getMessage());
    }
}

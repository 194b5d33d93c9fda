package dev.genv.enforcer.api;

/**
 * An error as RFC 9457 wants it.
 *
 * @param title the meaning of the status
 * @param detail what was wrong with this request
 */
public record ProblemDetail(String title, int status, String detail) {
    static final String MEDIA_TYPE = "application/problem+json";
}

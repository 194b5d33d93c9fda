package dev.genv.enforcer.model;

/**
 * Something that a look could not read or did not expect.
 *
 * @param code a stable word for programs, such as {@code state_unreadable}
 * @param detail a sentence for people
 */
public record Problem(String code, String detail) {}

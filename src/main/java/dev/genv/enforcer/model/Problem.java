package dev.genv.enforcer.model;

/**
 * Something that a look could not read or did not expect.
 *
 * @param detail a sentence for people
 */
public record Problem(ProblemCode code, String detail) {}

package dev.genv.enforcer.model;

/**
 * Something that an observation could not read or did not expect.
 *
 * @param detail a sentence for administrators
 */
public record Problem(ProblemCode code, String detail) {}

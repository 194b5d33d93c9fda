package dev.genv.enforcer.model;

/** The answer to a question about a fact. What could not be read is unknown, never a no. */
public enum Ternary {
    YES,
    NO,
    UNKNOWN
}

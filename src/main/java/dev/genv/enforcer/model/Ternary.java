package dev.genv.enforcer.model;

/** The answer to a question about a fact. What could not be read is unknown, never a no. */
public enum Ternary {
    YES,
    NO,
    UNKNOWN;

    public static Ternary of(boolean known) {
        return known ? YES : NO;
    }

    public Ternary negate() {
        return switch (this) {
            case YES -> NO;
            case NO -> YES;
            case UNKNOWN -> UNKNOWN;
        };
    }
}

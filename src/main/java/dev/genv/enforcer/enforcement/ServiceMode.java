package dev.genv.enforcer.enforcement;

/** What the service as a whole may do. */
public enum ServiceMode {
    /** What the rules want is done. */
    ENFORCE,
    /** Everything is reported and nothing is touched. */
    AUDIT
}

package dev.genv.enforcer.observation;

/** What a process counts as if it has overwritten its environ, and nothing shows to which environment it belongs. */
public enum OverwrittenEnviron {
    /** It may be in any environment, so no rule checks it. */
    UNKNOWN,
    /** It is outside of all environments. */
    OUTSIDE
}

package dev.genv.enforcer.journal;

/** How many resolved violations are read back, as many as the registry keeps. */
final class ViolationLimits {
    static final int MAX_RESOLVED = 10_000;
    static final long MAX_RESOLVED_BYTES = 16L << 20;

    private ViolationLimits() {}
}

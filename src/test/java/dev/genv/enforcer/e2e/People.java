package dev.genv.enforcer.e2e;

/** Users whom no machine has an account for, so that nothing but their uids tells who they are. */
final class People {
    static final int BOB = 54_001;
    static final int MALLORY = 54_002;

    private People() {}
}

package dev.genv.enforcer.e2e;

/** Users whom no machine has an account for, so that nothing but their uids tells who they are. */
public final class TestUsers {
    public static final int HONEST_UID = 54_001;
    public static final int ATTACKER_UID = 54_002;

    private TestUsers() {}
}

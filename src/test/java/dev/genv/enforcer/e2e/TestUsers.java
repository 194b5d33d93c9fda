package dev.genv.enforcer.e2e;

/** Users without an account on any machine, so that only their uids identify them. */
public final class TestUsers {
    public static final int HONEST_UID = 54_001;
    public static final int ATTACKER_UID = 54_002;

    private TestUsers() {}
}

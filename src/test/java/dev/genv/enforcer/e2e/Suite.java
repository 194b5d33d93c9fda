package dev.genv.enforcer.e2e;

/** The size of the suites: small in every build, large with {@code -Dsuite.long=true}. */
public final class Suite {
    public static final boolean IS_LONG = Boolean.getBoolean("suite.long");

    private Suite() {}

    public static int repetitions(int usually, int atLength) {
        return IS_LONG ? atLength : usually;
    }
}

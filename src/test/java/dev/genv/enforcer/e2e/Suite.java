package dev.genv.enforcer.e2e;

/** How much the suites do: little in every build, much with {@code -Plong}. */
final class Suite {
    static final boolean LONG = Boolean.getBoolean("suite.long");

    private Suite() {}

    static int times(int usually, int atLength) {
        return LONG ? atLength : usually;
    }
}

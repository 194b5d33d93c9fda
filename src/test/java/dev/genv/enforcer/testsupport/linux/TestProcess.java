package dev.genv.enforcer.testsupport.linux;

/** A real process of a test. */
public interface TestProcess extends AutoCloseable {
    int pid();

    boolean isAlive();

    /** Kills it. */
    @Override
    void close();
}

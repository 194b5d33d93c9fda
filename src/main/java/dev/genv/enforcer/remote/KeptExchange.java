package dev.genv.enforcer.remote;

/** An exchange that is held open from one command to the next. */
public interface KeptExchange extends Exchange, AutoCloseable {
    /** Breaks off what is under way, for good. */
    @Override
    void close();
}

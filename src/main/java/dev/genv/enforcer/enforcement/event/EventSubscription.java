package dev.genv.enforcer.enforcement.event;

/** A listener of the event log, until it is closed. */
public interface EventSubscription extends AutoCloseable {
    /** Ends the subscription; a call that has begun comes to its end. */
    @Override
    void close();
}

package dev.genv.enforcer.enforcement.delivery;

import java.util.OptionalLong;

/** Remembers the last event that a receiver got. A journal keeps it over a restart. */
public interface DeliveryCursor {
    /** Returns the position of the last delivered event; empty if none is known. */
    OptionalLong load();

    /** Records the position of the last delivered event. It may be lost in a crash: then the event is delivered again. */
    void store(long sequence);
}

package dev.genv.enforcer.enforcement.delivery;

import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;

/** Remembers the last event that a receiver got. A journal keeps it over a restart. */
public interface DeliveryCursor {
    /** Returns the position of the last delivered event; empty if none is known. */
    OptionalLong load();

    /** Records the position of the last delivered event. It may be lost in a crash: then the event is delivered again. */
    void store(long sequence);

    /** Creates a cursor that a restart forgets. */
    static DeliveryCursor inMemory() {
        var position = new AtomicLong(-1);
        return new DeliveryCursor() {
            @Override
            public OptionalLong load() {
                var known = position.get();
                return known < 0 ? OptionalLong.empty() : OptionalLong.of(known);
            }

            @Override
            public void store(long sequence) {
                position.set(sequence);
            }
        };
    }
}

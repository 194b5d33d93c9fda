package dev.genv.enforcer.api.connection;

import io.vertx.ext.web.RoutingContext;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/** Slots for clients that occupy memory. One address cannot take all of them. */
public final class ClientSlots {
    private final int total;
    private final int perAddress;
    private final Map<Object, Integer> taken = new HashMap<>();
    private int count;
    private long refused;

    /** Creates free slots: so many for all clients, and for the clients of one address. */
    public ClientSlots(int total, int perAddress) {
        this.total = total;
        this.perAddress = perAddress;
    }

    /** Takes a slot for a client of this address; if there is none, returns nothing and counts the client. */
    public synchronized Optional<Slot> take(Object address) {
        var ofAddress = taken.getOrDefault(address, 0);
        if (count >= total || ofAddress >= perAddress) {
            refused++;
            return Optional.empty();
        }
        count++;
        taken.put(address, ofAddress + 1);
        return Optional.of(new Slot(address));
    }

    /** The clients for which there was no slot. */
    public synchronized long refused() {
        return refused;
    }

    /** A slot that is taken. Each user closes it once, and after the last one it is free. */
    public final class Slot implements AutoCloseable {
        private static final String KEY = Slot.class.getName();

        private final Object address;
        private int users = 1;

        private Slot(Object address) {
            this.address = address;
        }

        /** Lets a computation for this request {@link #hold} the slot. */
        public void attachTo(RoutingContext request) {
            request.put(KEY, this);
        }

        /**
         * Adds a computation to the users of the slot of this request, because the end of the connection does not end the computation. Returns
         * nothing if the slot is free again, as the client has left.
         */
        public static Optional<Slot> hold(RoutingContext request) {
            return Optional.of(Objects.requireNonNull(request.<Slot>get(KEY), "a limited request has a slot"))
                    .filter(Slot::addUser);
        }

        private boolean addUser() {
            synchronized (ClientSlots.this) {
                users += users == 0 ? 0 : 1;
                return users > 0;
            }
        }

        @Override
        public void close() {
            synchronized (ClientSlots.this) {
                users--;
                if (users == 0) {
                    count--;
                    taken.computeIfPresent(address, (_, number) -> number == 1 ? null : number - 1);
                }
            }
        }
    }
}

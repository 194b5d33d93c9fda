package dev.genv.enforcer.api.connection;

import java.util.HashMap;
import java.util.Map;
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

    /**
     * Takes a slot for a client of this address; if there is none, returns nothing and counts the client. The result frees the slot, and is
     * run once.
     */
    public synchronized Optional<Runnable> take(Object address) {
        var ofAddress = taken.getOrDefault(address, 0);
        if (count >= total || ofAddress >= perAddress) {
            refused++;
            return Optional.empty();
        }
        count++;
        taken.put(address, ofAddress + 1);
        return Optional.of(() -> free(address));
    }

    private synchronized void free(Object address) {
        count--;
        taken.computeIfPresent(address, (_, number) -> number == 1 ? null : number - 1);
    }

    /** The clients for which there was no slot. */
    public synchronized long refused() {
        return refused;
    }
}

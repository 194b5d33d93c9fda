package dev.genv.enforcer.api.connection;

import java.util.HashMap;
import java.util.Map;

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

    /** Takes a slot for a client of this address; returns false and counts it if there is none. */
    public synchronized boolean take(Object address) {
        var ofAddress = taken.getOrDefault(address, 0);
        if (count >= total || ofAddress >= perAddress) {
            refused++;
            return false;
        }
        count++;
        taken.put(address, ofAddress + 1);
        return true;
    }

    /** Frees a slot that was taken for this address. */
    public synchronized void release(Object address) {
        count--;
        taken.computeIfPresent(address, (_, number) -> number == 1 ? null : number - 1);
    }

    /** The clients for which there was no slot. */
    public synchronized long refused() {
        return refused;
    }
}

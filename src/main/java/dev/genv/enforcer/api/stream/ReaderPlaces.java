package dev.genv.enforcer.api.stream;

import java.util.HashMap;
import java.util.Map;

/** The places of clients that follow the events. One address cannot take all of them. */
final class ReaderPlaces {
    private final int total;
    private final int perAddress;
    private final Map<Object, Integer> taken = new HashMap<>();
    private int count;
    private long refused;

    /**
     * Creates free places.
     *
     * @param total the largest number of clients
     * @param perAddress the largest number of clients of one address
     */
    ReaderPlaces(int total, int perAddress) {
        this.total = total;
        this.perAddress = perAddress;
    }

    /** Takes a place for a client of this address; returns false and counts it if there is none. */
    synchronized boolean take(Object address) {
        var ofAddress = taken.getOrDefault(address, 0);
        if (count >= total || ofAddress >= perAddress) {
            refused++;
            return false;
        }
        count++;
        taken.put(address, ofAddress + 1);
        return true;
    }

    /** Frees a place that was taken for this address. */
    synchronized void release(Object address) {
        count--;
        taken.computeIfPresent(address, (_, number) -> number == 1 ? null : number - 1);
    }

    /** The clients for which there was no place. */
    synchronized long refused() {
        return refused;
    }
}

package dev.genv.enforcer.api.connection;

import java.util.HashMap;
import java.util.Map;

/**
 * The bytes of responses that the kernel has not taken over yet, because clients do not read. Netty keeps them in direct memory, and on
 * JDK 25 only {@code -XX:MaxDirectMemorySize} limits that: above it, writes and the reading of files fail. So requests are refused
 * before.
 */
final class ResponseBudget {
    /**
     * With the requests that are admitted just before it is used up, with TLS, and with what else needs direct memory, it is less than
     * the limit in {@code docker/genv-enforcer}.
     */
    static final ResponseBudget OF_SERVICE = new ResponseBudget(24 << 20, 12 << 20);

    private final long total;
    private final long perAddress;
    private final Map<Object, Long> byAddress = new HashMap<>();
    private long bytes;

    /** Creates a budget in bytes: for all clients, and for the clients of one address. */
    ResponseBudget(long total, long perAddress) {
        this.total = total;
        this.perAddress = perAddress;
    }

    /** Adds bytes that wait for a client of this address; a negative number no longer waits. */
    synchronized void add(Object address, long number) {
        bytes += number;
        byAddress.compute(address, (_, before) -> {
            var sum = (before == null ? 0 : before) + number;
            return sum == 0 ? null : sum;
        });
    }

    /** Whether clients of this address get no further response now. */
    synchronized boolean isUsedUp(Object address) {
        return bytes >= total || byAddress.getOrDefault(address, 0L) >= perAddress;
    }
}

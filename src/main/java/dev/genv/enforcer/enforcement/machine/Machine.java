package dev.genv.enforcer.enforcement.machine;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.facts.host.HostFacts;
import java.util.List;
import java.util.function.BiConsumer;

/** The adapter of one machine. It gathers facts and executes orders, and interprets neither. One thread at a time uses it. */
public interface Machine {
    /**
     * Gathers the facts. A part that cannot be read is part of the answer, not an exception.
     *
     * @throws UnreachableException if there is no valid answer
     * @throws InterruptedException if the service no longer waits for the answer
     */
    HostFacts gather(Interest interest) throws UnreachableException, InterruptedException;

    /**
     * Executes orders.
     *
     * @param done called with each reply as soon as it exists, even if the service no longer waits
     * @throws UnreachableException if the machine cannot be reached; an order without a reply was not executed then
     * @throws InterruptedException if the service no longer waits for the answer
     */
    void execute(List<Order> orders, BiConsumer<Order, Reply> done) throws UnreachableException, InterruptedException;
}

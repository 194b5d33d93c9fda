package dev.genv.enforcer.remote;

import dev.genv.enforcer.enforcement.UnreachableException;

/** Runs commands on a host, one at a time. */
public interface Exchange {
    /**
     * Runs one.
     *
     * @return what came of it, also where it was broken off in the middle
     * @throws UnreachableException where nothing of it can have reached the host
     * @throws InterruptedException when nobody waits for the answer any longer
     */
    Answer run(Request request) throws UnreachableException, InterruptedException;
}

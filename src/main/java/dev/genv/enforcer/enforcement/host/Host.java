package dev.genv.enforcer.enforcement.host;

import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.observation.AccountReader.KnownAccounts;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.PolicyValues;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;

/** A machine that is observed and on which actions are executed. One thread at a time uses it. */
public interface Host {

    String name();

    /** Takes over the users whom the policy names, and what it needs to know, before an observation. */
    default void apply(PolicyValues policy) {}

    /** Continues with what an earlier run of the service, or another connection to the machine, remembered. */
    default void restore(Remembered remembered) {}

    /** Returns what later observations depend on, as the last one found it. Any thread may ask for it. */
    default Remembered remembered() {
        return Remembered.NOTHING;
    }

    /**
     * What the observations of a machine depend on besides its facts.
     *
     * @param accounts what its name service found
     */
    record Remembered(KnownAccounts accounts) {
        public static final Remembered NOTHING = new Remembered(KnownAccounts.NONE);
    }

    /**
     * Observes the machine. A part that cannot be read is part of the answer, not an exception.
     *
     * @param verified the processes for which the answer reports whether they have exited
     * @throws UnreachableException if there is no valid answer
     * @throws InterruptedException if the service no longer waits for the answer
     */
    Snapshot observe(Set<ProcessId> verified) throws UnreachableException, InterruptedException;

    /**
     * Executes actions. Each one is checked again directly before.
     *
     * @param done called with each result as soon as it exists, even if the service no longer waits
     * @throws UnreachableException if the machine cannot be reached; an action without a result was not executed then
     * @throws InterruptedException if the service no longer waits for the answer
     */
    void execute(List<Action> actions, BiConsumer<Action, Result> done)
            throws UnreachableException, InterruptedException;
}

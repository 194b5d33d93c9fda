package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Action;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A machine: it can be looked at, and something can be done on it. Used by one thread at a time. */
public interface Host {

    /** How reports call it. */
    String name();

    /**
     * Looks at the machine. What cannot be seen is part of the answer, not an exception.
     *
     * @throws InterruptedException when nobody waits for the answer any longer
     */
    Look look() throws InterruptedException;

    /**
     * Does these things, each only if it is still right.
     *
     * @return one result for each action, in the same order
     * @throws InterruptedException when nobody waits for the answer any longer
     */
    List<Result> perform(List<Action> actions) throws InterruptedException;

    /**
     * What came of a look.
     *
     * @param gpuSource what told us about the GPUs, such as {@code nvidia-smi}
     * @param driver the version of the GPU driver; null where it is not known
     */
    record Look(
            Snapshot snapshot, String gpuSource, @Nullable String driver) {}
}

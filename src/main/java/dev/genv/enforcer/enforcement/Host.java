package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Action;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** A machine: it can be looked at, and something can be done on it. Used by one thread at a time. */
public interface Host {

    /** How reports call it. */
    String name();

    /**
     * Looks at the machine. What cannot be seen is part of the answer, not an exception.
     *
     * @param verified the processes of which the answer reports whether they have ended
     * @throws UnreachableException where there was no answer that could be believed
     * @throws InterruptedException when nobody waits for the answer any longer
     */
    Look look(Set<ProcessId> verified) throws UnreachableException, InterruptedException;

    /**
     * Does these things, each only if it is still right.
     *
     * @param done told of each result as soon as it is there, also when nobody waits for it any longer
     * @throws UnreachableException where the machine could not be told; what was not reported was not done then
     * @throws InterruptedException when nobody waits for the answer any longer
     */
    void perform(List<Action> actions, BiConsumer<Action, Result> done)
            throws UnreachableException, InterruptedException;

    /**
     * What came of a look.
     *
     * @param gpuSource what told us about the GPUs, such as {@code nvidia-smi}
     * @param driver the version of the GPU driver; null where it is not known
     * @param ticks when the state was read, in clock ticks since boot, as a process's start time is
     * @param ended those of the verified processes that are certainly there no longer
     * @param missingRights what this host lacks to be enforced on, such as {@code SYS_PTRACE}; each is also a problem that
     *     tells how to grant it
     * @param watchesOnly why nothing may be done on this host; null where it may
     * @param machine what tells this machine from every other one, whatever it is called; null where that is not known
     * @param lockWait how long the look waited for genv's lock; null where it did not, or that is not known
     * @param stateChangedAt when the state was last changed, in clock ticks since boot; null where that is not known
     */
    record Look(
            Snapshot snapshot,
            String gpuSource,
            @Nullable String driver,
            long ticks,
            Set<ProcessId> ended,
            List<String> missingRights,
            @Nullable String watchesOnly,
            @Nullable String machine,
            @Nullable Duration lockWait,
            @Nullable Long stateChangedAt) {}
}

package dev.genv.enforcer.enforcement.host;

import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.plan.Action;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** A machine that is observed and on which actions are executed. One thread at a time uses it. */
public interface Host {

    /** Its name in reports. */
    String name();

    /**
     * Observes the machine. A part that cannot be read is part of the answer, not an exception.
     *
     * @param verified the processes for which the answer reports whether they have exited
     * @throws UnreachableException if there is no valid answer
     * @throws InterruptedException if the service no longer waits for the answer
     */
    Observation observe(Set<ProcessId> verified) throws UnreachableException, InterruptedException;

    /**
     * Executes actions. Each one is checked again directly before.
     *
     * @param done called with each result as soon as it exists, even if the service no longer waits
     * @throws UnreachableException if the machine cannot be reached; an action without a result was not executed then
     * @throws InterruptedException if the service no longer waits for the answer
     */
    void execute(List<Action> actions, BiConsumer<Action, Result> done)
            throws UnreachableException, InterruptedException;

    /**
     * The result of an observation.
     *
     * @param gpuSource the source of the GPU data, such as {@code nvidia-smi}
     * @param driver the version of the GPU driver; null if unknown
     * @param ticks when the state was read, in clock ticks since boot, like the start time of a process
     * @param ended the verified processes that have certainly exited
     * @param missingPrivileges the privileges that the service lacks here, such as {@code SYS_PTRACE}; each is also a
     *     problem that says how to grant it
     * @param readOnlyReason why no action may be executed on this host; null if actions may be executed
     * @param machine an id of the machine that does not depend on its name; null if unknown
     * @param lockWait how long the observation waited for genv's lock; null if it did not, or if that is unknown
     * @param stateChangedAt when the state was last changed, in clock ticks since boot; null if unknown
     */
    record Observation(
            Snapshot snapshot,
            String gpuSource,
            @Nullable String driver,
            long ticks,
            Set<ProcessId> ended,
            List<String> missingPrivileges,
            @Nullable String readOnlyReason,
            @Nullable String machine,
            @Nullable Duration lockWait,
            @Nullable Long stateChangedAt) {}
}

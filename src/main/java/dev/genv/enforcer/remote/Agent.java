package dev.genv.enforcer.remote;

import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.Observation;
import dev.genv.enforcer.policy.plan.Action;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;

/** Observes a machine and executes actions on it by running commands there. Each machine has its own; one thread at a time
 * uses it. */
public interface Agent {
    /** Observes the machine; see {@link Host#observe}. */
    Observation observe(CommandRunner host, Set<ProcessId> verified) throws UnreachableException, InterruptedException;

    /** Executes actions on the machine; see {@link Host#execute}. */
    void execute(CommandRunner host, List<Action> actions, BiConsumer<Action, Result> done)
            throws UnreachableException, InterruptedException;
}

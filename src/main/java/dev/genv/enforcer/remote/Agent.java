package dev.genv.enforcer.remote;

import dev.genv.enforcer.enforcement.Host;
import dev.genv.enforcer.enforcement.Result;
import dev.genv.enforcer.enforcement.UnreachableException;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.policy.Action;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;

/** What is said on a host to look at it and to act on it. One for each host; used by one thread at a time. */
public interface Agent {
    /** As {@link Host#look}. */
    Host.Look look(Exchange host, Set<ProcessId> verified) throws UnreachableException, InterruptedException;

    /** As {@link Host#perform}. */
    void perform(Exchange host, List<Action> actions, BiConsumer<Action, Result> done)
            throws UnreachableException, InterruptedException;
}

package dev.genv.enforcer.remote;

import dev.genv.enforcer.enforcement.Host;
import dev.genv.enforcer.enforcement.Result;
import dev.genv.enforcer.enforcement.UnreachableException;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.policy.Action;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;

/** Another machine. */
public final class RemoteHost implements Host {
    private final String name;
    private final Exchange exchange;
    private final Agent agent;

    /**
     * Nothing is asked of it yet.
     *
     * @param name how reports call it
     */
    public RemoteHost(String name, Exchange exchange, Agent agent) {
        this.name = name;
        this.exchange = exchange;
        this.agent = agent;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Look look(Set<ProcessId> verified) throws UnreachableException, InterruptedException {
        return agent.look(exchange, verified);
    }

    @Override
    public void perform(List<Action> actions, BiConsumer<Action, Result> done)
            throws UnreachableException, InterruptedException {
        agent.perform(exchange, actions, done);
    }
}

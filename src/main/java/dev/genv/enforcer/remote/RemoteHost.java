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

/** A machine that is reached over SSH. */
public final class RemoteHost implements Host {
    private final String name;
    private final CommandRunner exchange;
    private final Agent agent;

    /**
     * Creates the host without connecting.
     *
     * @param name its name in reports
     */
    public RemoteHost(String name, CommandRunner exchange, Agent agent) {
        this.name = name;
        this.exchange = exchange;
        this.agent = agent;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Observation observe(Set<ProcessId> verified) throws UnreachableException, InterruptedException {
        return agent.observe(exchange, verified);
    }

    @Override
    public void execute(List<Action> actions, BiConsumer<Action, Result> done)
            throws UnreachableException, InterruptedException {
        agent.execute(exchange, actions, done);
    }
}

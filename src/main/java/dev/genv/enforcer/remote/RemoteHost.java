package dev.genv.enforcer.remote;

import dev.genv.enforcer.enforcement.Host;
import dev.genv.enforcer.enforcement.Result;
import dev.genv.enforcer.enforcement.UnreachableException;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.policy.Action;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Another machine. */
final class RemoteHost implements Host {
    private final String name;
    private final Exchange exchange;
    private final Supplier<@Nullable String> hostKey;
    private final Agent agent;

    /**
     * Puts it together.
     *
     * @param hostKey the key by which the machine proved who it is
     */
    RemoteHost(String name, Exchange exchange, Supplier<@Nullable String> hostKey, Agent agent) {
        this.name = name;
        this.exchange = exchange;
        this.hostKey = hostKey;
        this.agent = agent;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Look look(Set<ProcessId> asked) throws UnreachableException, InterruptedException {
        return proven(agent.look(exchange, asked));
    }

    /** A machine says itself which one it is; its key is proof. So none can pass for another, and hide it. */
    private Look proven(Look look) {
        return look.machine() == null ? look : look.with(look.machine() + " " + hostKey.get());
    }

    @Override
    public void perform(List<Action> actions, BiConsumer<Action, Result> done)
            throws UnreachableException, InterruptedException {
        agent.perform(exchange, actions, done);
    }
}

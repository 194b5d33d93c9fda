package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.enforcement.host.ObservedHost;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.Connection.ProgramRequest;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;

/** The host with its agent; each call has a connection of its own. */
final class AgentHost {
    private final ObservedHost host;
    private int stops;
    private Machine.Answering connection;

    AgentHost(Machine machine) {
        connection = machine.python;
        host = machine.host(new Connection() {
            @Override
            public CommandResult request(ProgramRequest request) throws UnreachableException, InterruptedException {
                return connection.request(request);
            }

            @Override
            public void stop() {
                stops++;
            }

            @Override
            public void close() {}
        });
    }

    /** Returns how often the program was to be ended. */
    int stops() {
        return stops;
    }

    Snapshot observe(Machine.Answering other, Set<ProcessId> verified)
            throws UnreachableException, InterruptedException {
        connection = other;
        return host.observe(verified);
    }

    void execute(Machine.Answering other, List<Action> actions, BiConsumer<Action, Result> done)
            throws UnreachableException, InterruptedException {
        connection = other;
        host.execute(actions, done);
    }
}

package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.observation.Observation;
import dev.genv.enforcer.policy.plan.Action;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Supplier;

/**
 * The node of the service. It also reports that deliveries fail, because problems are shown by host.
 *
 * @param problems returns the present problems of the deliveries
 */
public record HostWithDeliveryProblems(Host node, Supplier<List<Problem>> problems) implements Host {
    @Override
    public String name() {
        return node.name();
    }

    @Override
    public Observation observe(Set<ProcessId> verified) throws UnreachableException, InterruptedException {
        return node.observe(verified).withProblems(problems.get());
    }

    @Override
    public void execute(List<Action> actions, BiConsumer<Action, Result> done)
            throws UnreachableException, InterruptedException {
        node.execute(actions, done);
    }
}

package dev.genv.enforcer.enforcement.safeguard;

import dev.genv.enforcer.enforcement.action.Order;
import dev.genv.enforcer.enforcement.history.Evidence;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Immunity;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.PlannedAction;
import java.util.Optional;

/** Protected processes and those of exempt users are never terminated. */
final class ImmuneTarget implements Safeguard {
    @Override
    public Optional<Order.Skip> check(PlannedAction planned, Evidence evidence) {
        return switch (planned.action()) {
            case Action.Terminate(var _, GpuProcess process, var _) ->
                Optional.ofNullable(process.immunity())
                        .map(immunity -> new Order.Skip(planned, outcome(immunity), immunity.reason()));
            case Action.Detach(var _, var environment, var _, var _) ->
                environment.ownership().exempt()
                        ? Optional.of(new Order.Skip(
                                planned, Outcome.SKIPPED_EXEMPT, "all its live processes belong to exempt users"))
                        : Optional.empty();
        };
    }

    private static Outcome outcome(Immunity immunity) {
        return immunity.kind() == Immunity.Kind.EXEMPT ? Outcome.SKIPPED_EXEMPT : Outcome.SKIPPED_PROTECTED;
    }
}

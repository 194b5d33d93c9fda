package dev.genv.enforcer.enforcement.safeguard;

import dev.genv.enforcer.enforcement.action.ActionRecord;
import dev.genv.enforcer.enforcement.action.Order;
import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.history.Evidence;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.safeguard.grace.Wait;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.PlannedAction;
import dev.genv.enforcer.policy.plan.Violation;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The safeguards in their order. The first one that holds an action back gives its outcome. Two of them cannot decide about an action
 * alone and at this time: the termination limit chooses among the actions that no other one holds back, and {@link OldObservation}
 * is checked directly before the execution.
 *
 * <p>Outside this list, {@code KillEscalation} leaves out processes that were already signalled, and each host checks the identity,
 * the immunity and its own state again directly before the signal ({@code SignalCheck}, {@code ObservedHost}, the agent).
 */
public final class Safeguards {
    private final SafeguardConfig config;
    private final ClaimedProcess claimed;
    private final PendingGrace grace;
    private final ServiceStop stop = new ServiceStop();
    private final List<Safeguard> inOrder;
    private final TerminationLimit limit;

    public Safeguards(SafeguardConfig config, Ticker counted) {
        this.config = config;
        claimed = new ClaimedProcess(config.isEnforced());
        grace = new PendingGrace(config.isEnforced(), config.limits());
        inOrder = List.of(
                new ImmuneTarget(),
                new AuditMode(config.mode()),
                new ReadOnlyHost(),
                new AuditedRule(),
                new DisabledSignals(config.signals()),
                claimed,
                grace,
                stop);
        limit = new TerminationLimit(config.limits().maxTerminations(), counted);
    }

    /** Decides which of these actions are executed in this cycle. */
    public Orders screen(List<PlannedAction> actions, Evidence evidence) {
        var screened =
                actions.stream().map(planned -> screen(planned, evidence)).toList();
        var permitted = screened.stream()
                .filter(Order.Run.class::isInstance)
                .map(Order::planned)
                .toList();
        var deferred = limit.selectDeferred(permitted, evidence.seen().subordinateUids());
        var orders = screened.stream()
                .map(order -> deferred.contains(order.planned()) ? limit.skip(order.planned()) : order)
                .toList();
        return new Orders(orders, new OldObservation(evidence.seen().age()), limit.problems(deferred));
    }

    /** Records the results of the orders, for the termination limit of the next cycle. */
    public void record(List<ActionRecord> results) {
        limit.record(results);
    }

    /** Whether the service acts on this violation now, as far as its grace and the environment of the process are concerned. */
    public boolean isDue(Violation cause, Action action, Evidence evidence) {
        return mayCause(cause.rule(), action, evidence)
                && grace.first(cause, action, evidence).isEmpty();
    }

    /**
     * Returns what an action waits for that was held back with {@link Outcome#SKIPPED_GRACE}; empty if it waits until the state or
     * the process changes.
     */
    public Optional<Wait> waitOf(PlannedAction planned, Evidence evidence) {
        return grace.check(planned, evidence).isPresent()
                ? grace.last(planned, evidence)
                : Optional.of(OldObservation.WAIT);
    }

    /** Whether nothing but a grace period holds back an action for these violations, so that time alone leads to it. */
    public boolean isOnlyDelayed(Action action, Set<Violation.Key> causes, Evidence evidence) {
        if (causes.stream().noneMatch(cause -> mayCause(cause.rule(), action, evidence))) {
            return false;
        }
        var planned = new PlannedAction(action, List.of(), true);
        return inOrder.stream()
                .filter(safeguard -> !(safeguard instanceof ClaimedProcess || safeguard instanceof PendingGrace))
                .allMatch(safeguard -> safeguard.check(planned, evidence).isEmpty());
    }

    /** Holds back every action from now on. */
    public void stop() {
        stop.stop();
    }

    /** Whether a rule leads to this action, as far as its mode and the environment of the process are concerned. */
    private boolean mayCause(RuleDefinition rule, Action action, Evidence evidence) {
        return config.isEnforced().test(rule)
                && claimed.reason(List.of(rule), action, evidence).isEmpty();
    }

    private Order screen(PlannedAction planned, Evidence evidence) {
        for (var safeguard : inOrder) {
            var skip = safeguard.check(planned, evidence);
            if (skip.isPresent()) {
                return skip.get();
            }
        }
        return new Order.Run(planned);
    }
}

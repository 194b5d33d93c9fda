package dev.genv.enforcer.enforcement.action;

import dev.genv.enforcer.enforcement.history.History;
import dev.genv.enforcer.enforcement.history.History.Delay;
import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.ObservationAge;
import dev.genv.enforcer.enforcement.host.Order;
import dev.genv.enforcer.enforcement.host.Order.Hold;
import dev.genv.enforcer.enforcement.host.Order.WaitReason;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.policy.Plan.HostProblem;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.Violation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/**
 * The safeguards in their order. The first one that holds an action back gives its outcome. Two of them cannot decide about an action
 * alone and at this time: the termination limit chooses among the actions that no other one holds back, and {@link OldObservation}
 * is checked directly before the execution.
 *
 * <p>Outside this class, {@link Terminations} leaves out processes that were already signalled, and each host checks the identity,
 * the immunity and its own state again directly before the signal ({@code SignalCheck}, {@code ObservedHost}, the agent).
 */
public final class Safeguards {
    private final Config config;
    private final TerminationLimit limit;
    private final Ticker counted;
    private volatile boolean stopped;
    /** Until when no process is asked to exit, by the clock that counts towards an action. */
    private long heldUntil;

    /**
     * What the service may do.
     *
     * @param isEnforced whether the service acts on the violations of a rule
     * @param signals whether processes may be signalled at all
     */
    public record Config(
            ServiceMode mode, Predicate<RuleDefinition> isEnforced, boolean signals, SafetyLimits limits) {}

    public Safeguards(Config config, Ticker counted) {
        this.config = config;
        this.counted = counted;
        limit = new TerminationLimit(config.limits().maxTerminations(), counted);
    }

    /** Decides which of these actions are executed in this cycle. */
    public Orders screen(List<PlannedAction> actions, Fleet fleet, History history, ObservationAge age) {
        var screened = actions.stream()
                .map(planned ->
                        hold(planned, fleet, history).<Order>map(hold -> hold).orElseGet(() -> new Order.Run(planned)))
                .toList();
        var permitted = screened.stream()
                .filter(Order.Run.class::isInstance)
                .map(Order::planned)
                .toList();
        var deferred = limit.selectDeferred(permitted, fleet.subordinateUids());
        var orders = screened.stream()
                .map(order -> deferred.contains(order.planned()) ? limit.hold(order.planned(), fleet.at()) : order)
                .toList();
        return new Orders(orders, new OldObservation(age), limit.problems(deferred));
    }

    /** Records the results of the orders, for the termination limit of the next cycle. */
    public void record(List<ActionRecord> results) {
        limit.record(results);
    }

    /** Holds back SIGTERM for this time: an earlier run may have sent it, and many training programs abort at a second one. */
    public void holdSigterm(Duration time) {
        heldUntil = counted.mark() + time.toNanos();
    }

    /** Holds back every action from now on. */
    public void stop() {
        stopped = true;
    }

    /** Whether nothing but a grace period holds back an action for these violations, so that time alone leads to it. */
    public boolean isOnlyDelayed(Action action, Set<Violation.Key> causes, Fleet fleet) {
        var planned = new PlannedAction(action, List.of(), true);
        return causes.stream().anyMatch(cause -> config.isEnforced.test(cause.rule()))
                && forbidden(planned, fleet).or(() -> stopped(planned)).isEmpty();
    }

    private Optional<Hold> hold(PlannedAction planned, Fleet fleet, History history) {
        return forbidden(planned, fleet)
                .or(() -> delayed(planned, fleet, history))
                .or(() -> perhapsSignalled(planned, fleet))
                .or(() -> stopped(planned));
    }

    private Optional<Hold> forbidden(PlannedAction planned, Fleet fleet) {
        return immune(planned)
                .or(() -> serviceAudits(planned))
                .or(() -> readOnly(planned, fleet))
                .or(() -> ruleAudits(planned))
                .or(() -> withoutSignals(planned));
    }

    /** Protected processes and those of exempt users are never terminated. */
    private static Optional<Hold> immune(PlannedAction planned) {
        return switch (planned.action()) {
            case Action.Terminate(var _, var process, var _) ->
                Optional.ofNullable(process.immunity())
                        .map(immunity -> new Hold(
                                planned,
                                immunity.kind() == Immunity.Kind.EXEMPT
                                        ? Outcome.SKIPPED_EXEMPT
                                        : Outcome.SKIPPED_PROTECTED,
                                immunity.reason()));
            case Action.Detach(var _, var environment, var _, var _) ->
                holdIf(
                        environment.ownership().exempt(),
                        planned,
                        Outcome.SKIPPED_EXEMPT,
                        "all its live processes belong to exempt users");
        };
    }

    private Optional<Hold> serviceAudits(PlannedAction planned) {
        return holdIf(config.mode == ServiceMode.AUDIT, planned, Outcome.SKIPPED_AUDIT, "the service only audits");
    }

    /** No action is executed on a host that forbids it, for example because another enforcer acts there. */
    private static Optional<Hold> readOnly(PlannedAction planned, Fleet fleet) {
        return fleet.host(planned.action().host())
                .map(snapshot -> snapshot.details().readOnlyReason())
                .map(reason -> new Hold(planned, Outcome.SKIPPED_AUDIT, reason));
    }

    private static Optional<Hold> ruleAudits(PlannedAction planned) {
        return holdIf(!planned.enforced(), planned, Outcome.SKIPPED_AUDIT, "the rule only audits");
    }

    /** genv's own setting forbids all signals, but no detachments. */
    private Optional<Hold> withoutSignals(PlannedAction planned) {
        return holdIf(
                !config.signals && planned.action() instanceof Action.Terminate,
                planned,
                Outcome.SKIPPED_AUDIT,
                "GENV_TERMINATE_PROCESSES is 0");
    }

    /**
     * An action waits until one of its violations was observed for the grace period. It is never executed for a claim of the state that
     * is younger than the process.
     */
    private Optional<Hold> delayed(PlannedAction planned, Fleet fleet, History history) {
        var causes = planned.causes().stream()
                .filter(cause -> config.isEnforced.test(cause.rule()))
                .toList();
        if (causes.isEmpty()) {
            return Optional.of(new Hold(planned, Outcome.SKIPPED_AUDIT, "no enforced rule asks for it"));
        }
        var delays = new ArrayList<Delay>();
        for (var cause : causes) {
            var delay = history.delay(cause, planned.action());
            if (delay.isEmpty()) {
                return Optional.empty();
            }
            delays.add(delay.get());
        }
        return delays.stream()
                .filter(delay -> delay.left().isPresent())
                .min(Comparator.comparing(delay -> delay.left().orElseThrow()))
                .or(() -> delays.stream().findFirst())
                .map(delay -> hold(planned, delay, fleet));
    }

    private Optional<Hold> perhapsSignalled(PlannedAction planned, Fleet fleet) {
        var left = Duration.ofNanos(heldUntil - counted.mark());
        return left.isPositive()
                        && planned.action() instanceof Action.Terminate terminate
                        && terminate.signal() == Signal.TERM
                ? Optional.of(new Hold(
                        planned,
                        Outcome.SKIPPED_GRACE,
                        "an earlier run may have signalled it: what that run stored is lost",
                        Optional.of(new Order.Until(
                                WaitReason.UNCONFIRMED_SIGNAL, fleet.at().plus(left)))))
                : Optional.empty();
    }

    private static Hold hold(PlannedAction planned, Delay delay, Fleet fleet) {
        var until = delay.left()
                .map(left -> new Order.Until(WaitReason.GRACE, fleet.at().plus(left)));
        return new Hold(
                planned, until.isPresent() ? Outcome.SKIPPED_GRACE : Outcome.SKIPPED_PROTECTED, delay.reason(), until);
    }

    /** A service that is being stopped starts no further action. */
    private Optional<Hold> stopped(PlannedAction planned) {
        return holdIf(stopped, planned, Outcome.FAILED, "the service is being stopped");
    }

    private static Optional<Hold> holdIf(boolean applies, PlannedAction planned, Outcome outcome, String reason) {
        return applies ? Optional.of(new Hold(planned, outcome, reason)) : Optional.empty();
    }

    /**
     * An action is not executed if the observation that it rests on is too old. Time may pass until its host begins with it, so
     * this is checked directly before.
     */
    public record OldObservation(ObservationAge age) {
        /** Whether no action may be executed any more. */
        public boolean applies() {
            return age.isTooOld();
        }

        public Order.Hold hold(PlannedAction planned) {
            return new Order.Hold(
                    planned,
                    Outcome.SKIPPED_GRACE,
                    "the service was suspended after the observation, or its clock was set: the next cycle decides"
                            + " again");
        }
    }

    /**
     * The orders of a cycle.
     *
     * @param all one for each action, in the order of the actions
     * @param expiry what holds back those that are not executed in time
     * @param problems a problem for each host whose actions exceed the termination limit
     */
    public record Orders(List<Order> all, OldObservation expiry, List<HostProblem> problems) {}
}

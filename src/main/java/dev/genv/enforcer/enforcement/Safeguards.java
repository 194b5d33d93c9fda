package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.History.Delay;
import dev.genv.enforcer.enforcement.History.Enforcement;
import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.ObservationAge;
import dev.genv.enforcer.enforcement.host.Order;
import dev.genv.enforcer.enforcement.host.Order.Hold;
import dev.genv.enforcer.enforcement.host.Order.WaitReason;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan.HostProblem;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;

/**
 * Every reason for which an action that the rules ask for is held back, one method for each, in the order in which they are checked. The first
 * one that applies gives the outcome.
 *
 * <p>Before them, {@link Terminations} leaves out the processes that were already signalled. After them, each host checks the identity, the
 * immunity and its own state again directly before the signal ({@code SignalCheck}, {@code ObservedHost}, the agent).
 */
public final class Safeguards {
    private final ServiceMode mode;
    private final Enforcement enforcement;
    private final TerminationLimit limit;
    private final Ticker counted;
    private volatile boolean stopped;
    /** Until when no process is asked to exit, by the clock that counts towards an action. */
    private long heldUntil;

    /**
     * Creates the safeguards.
     *
     * @param maxTerminations the largest number of processes of a host that are terminated in one cycle; 0 for no limit
     * @param counted the clock that counts towards an action
     */
    public Safeguards(ServiceMode mode, Enforcement enforcement, int maxTerminations, Ticker counted) {
        this.mode = mode;
        this.enforcement = enforcement;
        this.counted = counted;
        limit = new TerminationLimit(maxTerminations, counted);
    }

    /** Decides which of these actions are executed in this cycle: returns an order for each, in the same order. */
    public List<Order> screen(List<PlannedAction> actions, Fleet fleet, History history) {
        var orders = actions.stream()
                .map(planned -> forbidden(planned, fleet)
                        .or(() -> delayed(planned, fleet, history))
                        .or(() -> perhapsSignalled(planned, fleet))
                        .or(() -> stopped(planned))
                        .<Order>map(hold -> hold)
                        .orElseGet(() -> new Order.Run(planned)))
                .toList();
        return aboveLimit(orders, fleet);
    }

    /** Whether nothing but a grace period holds an action back, so that time alone leads to it. */
    public boolean isOnlyDelayed(PlannedAction planned, Fleet fleet) {
        return planned.causes().stream().anyMatch(cause -> enforcement.rules().test(cause.rule()))
                && forbidden(planned, fleet).or(() -> stopped(planned)).isEmpty();
    }

    private Optional<Hold> forbidden(PlannedAction planned, Fleet fleet) {
        return immune(planned)
                .or(() -> serviceAudits(planned))
                .or(() -> readOnly(planned, fleet))
                .or(() -> ruleAudits(planned))
                .or(() -> withoutSignals(planned));
    }

    /** 1. Protected processes and those of exempt users are never terminated. */
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

    /** 2. A service that only audits executes nothing. */
    private Optional<Hold> serviceAudits(PlannedAction planned) {
        return holdIf(mode == ServiceMode.AUDIT, planned, Outcome.SKIPPED_AUDIT, "the service only audits");
    }

    /** 3. No action is executed on a host that forbids it, for example because another enforcer acts there. */
    private static Optional<Hold> readOnly(PlannedAction planned, Fleet fleet) {
        return fleet.host(planned.action().host())
                .map(snapshot -> snapshot.details().readOnlyReason())
                .map(reason -> new Hold(planned, Outcome.SKIPPED_AUDIT, reason));
    }

    /** 4. No enforced rule asks for it. */
    private static Optional<Hold> ruleAudits(PlannedAction planned) {
        return holdIf(!planned.enforced(), planned, Outcome.SKIPPED_AUDIT, "the rule only audits");
    }

    /** 5. genv's own setting forbids all signals, but no detachments. */
    private Optional<Hold> withoutSignals(PlannedAction planned) {
        return holdIf(
                !enforcement.signals() && planned.action() instanceof Action.Terminate,
                planned,
                Outcome.SKIPPED_AUDIT,
                "GENV_TERMINATE_PROCESSES is 0");
    }

    /**
     * 6. An action waits until one of its violations was observed for the grace period. It is never executed for a claim of the state that
     * is younger than the process.
     */
    private Optional<Hold> delayed(PlannedAction planned, Fleet fleet, History history) {
        var causes = planned.causes().stream()
                .filter(cause -> enforcement.rules().test(cause.rule()))
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
                .map(delay -> delay.left()
                        .map(left -> holdFor(left, planned, delay.reason(), WaitReason.GRACE, fleet))
                        .orElseGet(() -> new Hold(planned, Outcome.SKIPPED_PROTECTED, delay.reason())));
    }

    /** 7. An earlier run, of which nothing is known, may have sent SIGTERM, and many training programs abort at a second one. */
    private Optional<Hold> perhapsSignalled(PlannedAction planned, Fleet fleet) {
        var left = Duration.ofNanos(heldUntil - counted.mark());
        return left.isPositive() && planned.isSigterm()
                ? Optional.of(holdFor(
                        left,
                        planned,
                        "an earlier run may have signalled it: what that run stored is lost",
                        WaitReason.UNCONFIRMED_SIGNAL,
                        fleet))
                : Optional.empty();
    }

    /** Holds back SIGTERM for this time, because what an earlier run stored is lost. */
    public void holdSigterm(Duration time) {
        heldUntil = counted.mark() + time.toNanos();
    }

    /** 8. A service that is being stopped starts no further action. */
    private Optional<Hold> stopped(PlannedAction planned) {
        return holdIf(stopped, planned, Outcome.FAILED, "the service is being stopped");
    }

    /** Holds back every action from now on. */
    public void stop() {
        stopped = true;
    }

    /** 9. One cycle terminates a limited number of processes of a host; those that no other safeguard holds back count. */
    private List<Order> aboveLimit(List<Order> orders, Fleet fleet) {
        var permitted = orders.stream()
                .filter(Order.Run.class::isInstance)
                .map(Order::planned)
                .toList();
        var deferred = limit.selectDeferred(permitted, fleet.subordinateUids());
        return orders.stream()
                .map(order -> deferred.contains(order.planned())
                        ? new Hold(
                                order.planned(),
                                Outcome.SKIPPED_LIMIT,
                                "the limit of %d terminations in one cycle is reached: it waits for the next cycle"
                                        .formatted(limit.most()),
                                new Order.Until(WaitReason.TERMINATION_LIMIT, fleet.at()))
                        : order)
                .toList();
    }

    /** Returns a problem for each host whose actions exceed the termination limit. */
    public List<HostProblem> problems(List<Order> orders) {
        var waiting = new LinkedHashMap<String, Integer>();
        for (var order : orders) {
            if (order instanceof Hold hold && hold.result().outcome() == Outcome.SKIPPED_LIMIT) {
                waiting.merge(hold.planned().action().host(), 1, Integer::sum);
            }
        }
        return waiting.entrySet().stream()
                .map(entry -> new HostProblem(
                        entry.getKey(),
                        new Problem(
                                ProblemCode.TERMINATION_LIMIT_REACHED,
                                "%d processes are to be terminated, but the limit is %d in one cycle: %d wait"
                                        .formatted(limit.most() + entry.getValue(), limit.most(), entry.getValue()))))
                .toList();
    }

    /** Records the results of the orders, for the termination limit of the next cycle. */
    public void record(List<ActionRecord> results) {
        limit.record(results);
    }

    /**
     * 10. An action is not executed if the observation that it rests on is too old. Time may pass until its host begins with it, so this
     * is checked directly before.
     */
    public static Optional<Hold> tooOld(PlannedAction planned, ObservationAge age) {
        return holdIf(
                age.isTooOld(),
                planned,
                Outcome.SKIPPED_GRACE,
                "the service was suspended after the observation, or its clock was set: the next cycle decides again");
    }

    private static Hold holdFor(Duration left, PlannedAction planned, String reason, WaitReason because, Fleet fleet) {
        var until = new Order.Until(because, fleet.at().plus(left));
        return new Hold(planned, Outcome.SKIPPED_GRACE, reason, until);
    }

    private static Optional<Hold> holdIf(boolean applies, PlannedAction planned, Outcome outcome, String reason) {
        return applies ? Optional.of(new Hold(planned, outcome, reason)) : Optional.empty();
    }
}

package dev.genv.enforcer.enforcement.action;

import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.Immunity;
import dev.genv.enforcer.policy.definition.StateChangeKind;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.PlannedAction;
import dev.genv.enforcer.policy.plan.Violation;
import dev.genv.enforcer.policy.rule.Rules;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The safeguards that hold back an action although the rules ask for it. */
final class Safeguards {
    private final ActionExecutor.Limits limits;
    private final GracePeriods grace;
    private final StrangerGracePeriods strangers;

    Safeguards(ActionExecutor.Limits limits, GracePeriods grace, StrangerGracePeriods strangers) {
        this.limits = limits;
        this.grace = grace;
        this.strangers = strangers;
    }

    /**
     * Returns why an action is not executed in this cycle; null if it may be.
     *
     * @param host what was observed on the host; null if it has left the list
     */
    @Nullable
    Result reason(PlannedAction planned, @Nullable HostReport host) {
        var immune = immunity(planned.action());
        if (immune != null) {
            return immune;
        }
        if (limits.mode() == ServiceMode.AUDIT) {
            return new Result(Outcome.SKIPPED_AUDIT, "the service only audits");
        }
        if (host != null && host.readOnlyReason() != null) {
            return new Result(Outcome.SKIPPED_AUDIT, host.readOnlyReason());
        }
        if (!planned.enforced()) {
            return new Result(Outcome.SKIPPED_AUDIT, "the rule only audits");
        }
        if (!limits.signals() && planned.action() instanceof Action.Terminate) {
            return new Result(Outcome.SKIPPED_AUDIT, "GENV_TERMINATE_PROCESSES is 0");
        }
        var captured = claimedByOthers(planned.action());
        if (captured.isPresent()) {
            return new Result(Outcome.SKIPPED_PROTECTED, captured.get());
        }
        var waiting = reasonToWait(planned);
        return waiting == null ? null : new Result(Outcome.SKIPPED_GRACE, waiting);
    }

    /** One violation whose grace has passed is enough. */
    private @Nullable String reasonToWait(PlannedAction planned) {
        String first = null;
        for (var cause : planned.causes()) {
            if (limits.isEnforced().test(cause.rule())) {
                var reason = reasonToWait(cause, planned.action());
                if (reason.isEmpty()) {
                    return null;
                }
                first = first == null ? reason.get() : first;
            }
        }
        return first;
    }

    /**
     * Returns why a process is not terminated that other users may have added to their environment. If processes without an active
     * environment are terminated, this does not apply: otherwise a user could hide a process in another user's environment.
     */
    private Optional<String> claimedByOthers(Action action) {
        var inactiveOnesAreTerminated = Rules.definitions().stream()
                .filter(rule -> rule.restsOn(StateChangeKind.ENVIRONMENT_ENDED))
                .anyMatch(limits.isEnforced());
        return inactiveOnesAreTerminated ? Optional.empty() : grace.claimedByOthers(action);
    }

    /** Whether the grace of this violation has passed for this action. */
    boolean isDue(Violation cause, Action action) {
        return limits.isEnforced().test(cause.rule())
                && claimedByOthers(action).isEmpty()
                && reasonToWait(cause, action).isEmpty();
    }

    private Optional<String> reasonToWait(Violation cause, Action action) {
        var reason = grace.reasonToWait(cause, action);
        return reason.isPresent() || !cause.rule().restsOn(StateChangeKind.OWNER_FORGED)
                ? reason
                : grace.belongs(action).or(() -> strangers.reasonToWait(action));
    }

    private static @Nullable Result immunity(Action action) {
        return switch (action) {
            case Action.Terminate(var _, var process, var _) -> {
                var immunity = process.immunity();
                yield immunity == null
                        ? null
                        : new Result(
                                immunity.kind() == Immunity.Kind.EXEMPT
                                        ? Outcome.SKIPPED_EXEMPT
                                        : Outcome.SKIPPED_PROTECTED,
                                immunity.reason());
            }
            case Action.Detach(var _, var environment, var _, var _) ->
                environment.ownership().exempt()
                        ? new Result(Outcome.SKIPPED_EXEMPT, "all its live processes belong to exempt users")
                        : null;
        };
    }
}

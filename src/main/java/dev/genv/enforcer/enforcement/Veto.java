package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Immunity;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.PlannedAction;
import dev.genv.enforcer.policy.RuleName;
import dev.genv.enforcer.policy.Violation;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Why an action that follows from the rules is not done all the same. */
final class Veto {
    private final ActionExecutor.Limits limits;
    private final Grace grace;
    private final StrangerGrace strangers;

    Veto(ActionExecutor.Limits limits, Grace grace, StrangerGrace strangers) {
        this.limits = limits;
        this.grace = grace;
        this.strangers = strangers;
    }

    /**
     * Why it is not done in this cycle; null where it may be.
     *
     * @param host what was seen there; null where nobody knows the host any longer
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
        if (host != null && host.watchesOnly() != null) {
            return new Result(Outcome.SKIPPED_AUDIT, host.watchesOnly());
        }
        if (!planned.enforced()) {
            return new Result(Outcome.SKIPPED_AUDIT, "the rule only audits");
        }
        if (!limits.signals() && planned.action() instanceof Action.Terminate) {
            return new Result(Outcome.SKIPPED_AUDIT, "GENV_TERMINATE_PROCESSES is 0");
        }
        var captured = captured(planned.action());
        if (captured.isPresent()) {
            return new Result(Outcome.SKIPPED_PROTECTED, captured.get());
        }
        var waiting = reasonToWait(planned);
        return waiting == null ? null : new Result(Outcome.SKIPPED_GRACE, waiting);
    }

    /** One violation whose time has come is enough. */
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
     * Why a process is spared that others may have drawn into their environment. Where processes without an active
     * environment are ended it is not: it is one of those then, and who draws himself into another's would hide.
     */
    private Optional<String> captured(Action action) {
        return limits.isEnforced().test(RuleName.INACTIVE_ENV_PROCESSES) ? Optional.empty() : grace.captured(action);
    }

    /** Whether the time has come to do it for this violation. */
    boolean isDue(Violation cause, Action action) {
        return limits.isEnforced().test(cause.rule())
                && captured(action).isEmpty()
                && reasonToWait(cause, action).isEmpty();
    }

    private Optional<String> reasonToWait(Violation cause, Action action) {
        var reason = grace.reasonToWait(cause, action);
        return reason.isPresent() || cause.rule() != RuleName.ENV_OWNER
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
                        ? new Result(Outcome.SKIPPED_EXEMPT, "all its live processes are of exempt users")
                        : null;
        };
    }
}

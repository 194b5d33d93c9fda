package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.facts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.format.Environ;
import dev.genv.enforcer.observation.IdentityFlapping;
import dev.genv.enforcer.observation.ImmunityRules;
import dev.genv.enforcer.policy.plan.Action;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A process to terminate on a machine if its identity has not changed. */
final class Termination {
    static final Result OTHER = Result.failed("its identity has changed since the rules were checked");

    private final Action.Terminate action;
    private final ImmunityRules immunity;
    /** What its environ must name. */
    private EnvironFacts expected;

    /** Its real uid, as it was last reported. */
    private @Nullable Long uid;

    /** Whether any real uid but an exempt one is accepted, because it changed too often. */
    private boolean acceptsAnyUid;

    Termination(Action.Terminate action, ImmunityRules immunity, EnvironFacts expected) {
        this.action = action;
        this.immunity = immunity;
        this.expected = expected;
        uid = action.process().uid();
    }

    /** Returns why a process is not terminated on the grounds of its observation; empty if it may be. */
    static Optional<Result> refusal(Action.Terminate action, LastObservation seen) {
        var process = action.process();
        if (process.pid() <= 1) {
            return Optional.of(new Result(Outcome.SKIPPED_PROTECTED, "this process must not be terminated"));
        }
        var immunity = process.immunity();
        if (immunity != null) {
            return Optional.of(new Result(
                    switch (immunity.kind()) {
                        case PROTECTED -> Outcome.SKIPPED_PROTECTED;
                        case EXEMPT -> Outcome.SKIPPED_EXEMPT;
                    },
                    immunity.reason()));
        }
        return process.uid() == null || !seen.environs().containsKey(process.id())
                ? Optional.of(Result.failed("the last observation of this host did not find it"))
                : Optional.empty();
    }

    Action.Terminate action() {
        return action;
    }

    Request.Terminate request(int number) {
        var process = action.process();
        return new Request.Terminate(
                number,
                process.pid(),
                process.id().startTime(),
                acceptsAnyUid ? null : process.uid(),
                immunity.exempt().stream().sorted().toList(),
                action.signal().name(),
                List.copyOf(immunity.protectedFiles(uid)),
                expected.id(),
                expected.digest());
    }

    /** Returns the result; null if it must be tried again, because its identity changed too often before. */
    @Nullable
    Result result(Answer.Terminated answer, IdentityFlapping flapping) {
        return switch (answer.result()) {
            case SIGNALLED -> Result.of(Outcome.SIGNALLED);
            case GONE -> Result.of(Outcome.ALREADY_GONE);
            case DENIED -> new Result(Outcome.DENIED, "needs the capability CAP_KILL");
            case PROTECTED -> new Result(Outcome.SKIPPED_PROTECTED, "it runs a protected program");
            case TIMEOUT -> Result.failed("its environ does not answer");
            case LATE -> Result.failed("abandoned: the execution took too long");
            case UNREADABLE -> OTHER;
            case OTHER_USER -> ofOtherUser(answer.uid(), flapping);
            case CHANGED -> changed(answer.environ(), flapping);
        };
    }

    /** The next attempt accepts any uid, because a process that changes its uid all the time would never have the expected one. */
    private @Nullable Result ofOtherUser(@Nullable Long now, IdentityFlapping flapping) {
        if (now == null) {
            return OTHER;
        }
        var exemption = immunity.exemption(now);
        if (exemption != null) {
            return new Result(Outcome.SKIPPED_EXEMPT, exemption.reason());
        }
        var process = action.process();
        if (flapping.isOther(process, now, process.membership())) {
            return OTHER;
        }
        uid = now;
        acceptsAnyUid = true;
        return null;
    }

    private @Nullable Result changed(@Nullable EnvironFacts now, IdentityFlapping flapping) {
        if (now == null) {
            return OTHER;
        }
        var process = action.process();
        if (flapping.isOther(process, process.uid(), Environ.named(now.id().array(), now.digest()))) {
            return OTHER;
        }
        expected = now;
        return null;
    }
}

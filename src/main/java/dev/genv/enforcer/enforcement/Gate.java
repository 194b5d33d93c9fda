package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.CurrentPolicy.EarlierPolicy;
import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.ObservationAge;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.report.ViolationRecord.ActionNote.Target;
import dev.genv.enforcer.enforcement.report.ViolationRecord.NextAction;
import dev.genv.enforcer.enforcement.report.ViolationRecord.WaitReason;
import dev.genv.enforcer.model.Device.HostDevice;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Ternary;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.policy.Plan.HostProblem;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.Rule.RuleFinding;
import dev.genv.enforcer.policy.RuleConfig.IdleLimits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Rules;
import dev.genv.enforcer.policy.Violation;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Decides whether an action that a rule asks for happens. Each reason against it is one method, in the order in which they are checked, and
 * the first one that applies gives the outcome.
 *
 * <p>Before, {@link Terminations} leaves out the processes that were already signalled. After it, the age of
 * the observation is checked, and the machine compares the process directly before the signal.
 */
public final class Gate {
    private static final Verdict NOW = new Verdict.Now();

    private final Enforcement enforcement;
    private final History history;
    private final TerminationLimit limit;
    private final Ticker counted;
    /** Which rules are enforced: by the present policy, or by an earlier one that is compared with it. */
    private Predicate<RuleDefinition> enforced;

    /** What the policies before changes would do, with the longest time first. */
    private List<Earlier> earlier = List.of();

    private volatile boolean stopped;
    /** Until when no process is asked to exit, by the clock that counts towards an action. */
    private long heldUntil;

    /** Whether an action happens. */
    public sealed interface Verdict {
        /** An action takes the best verdict of its violations. Among equal ones the first counts. */
        Comparator<Verdict> BEST_FIRST = Comparator.comparing(Verdict::delay);

        /** How long it waits; longer than every time if it never happens. */
        private Duration delay() {
            return switch (this) {
                case Now() -> Duration.ZERO;
                case Wait wait -> wait.left;
                case Never _ -> Duration.ofSeconds(Long.MAX_VALUE);
            };
        }

        record Now() implements Verdict {}

        /**
         * It waits, and time alone leads to it.
         *
         * @param left for how long after the observation
         * @param result what is recorded; empty if the record of an earlier signal says it
         */
        record Wait(Duration left, WaitReason because, Optional<Result> result) implements Verdict {
            private Wait(Duration left, WaitReason because, Outcome outcome, String why) {
                this(left, because, Optional.of(new Result(outcome, why)));
            }
        }

        /** Something else must change first. */
        record Never(Result result) implements Verdict {
            private Never(Outcome outcome, String why) {
                this(new Result(outcome, why));
            }
        }
    }

    /**
     * What the settings enforce.
     *
     * @param mode whether the service only audits
     * @param rules whether a rule is enforced if the service does not only audit
     * @param signals whether processes may be signalled at all
     * @param grace how long a violation must have been observed before the service acts on it; zero to act at once, as genv does
     * @param idleUtilization the highest utilization of a device that counts as idle, in percent
     */
    public record Enforcement(
            ServiceMode mode, Predicate<RuleDefinition> rules, boolean signals, Duration grace, int idleUtilization) {
        public Enforcement(ServiceMode mode, Predicate<RuleDefinition> rules, boolean signals, Duration grace) {
            this(mode, rules, signals, grace, IdleLimits.DEFAULT.utilization());
        }

        boolean audits() {
            return mode == ServiceMode.AUDIT;
        }

        /** Whether the violations of a rule are in force. */
        boolean enforces(String rule) {
            return Rules.find(rule).filter(rules).isPresent();
        }
    }

    /**
     * Creates a gate.
     *
     * @param maxTerminations the largest number of processes of a host that are terminated in one cycle; 0 for no limit
     * @param counted the clock that counts towards an action
     */
    public Gate(Enforcement enforcement, History history, int maxTerminations, Ticker counted) {
        this.enforcement = enforcement;
        this.history = history;
        this.counted = counted;
        enforced = enforcement.rules();
        limit = new TerminationLimit(maxTerminations);
    }

    /** Decides about an action after the history has recorded the plan: it takes the best verdict of its violations. */
    public Verdict judge(PlannedAction planned) {
        var best = planned.causes().stream()
                .map(cause -> judge(cause, planned.action()))
                .min(Verdict.BEST_FIRST)
                .orElseGet(() -> new Verdict.Never(Outcome.SKIPPED_AUDIT, "no rule asks for it"));
        return best.equals(NOW) ? stopped().orElse(NOW) : best;
    }

    /** Decides whether a violation leads to this action. */
    public Verdict judge(Violation cause, Action action) {
        return judge(cause, action, history.detached(cause), enforcement.audits());
    }

    private Verdict judge(Violation cause, Action action, Set<HostDevice> detached, boolean audits) {
        return immune(action)
                .or(() -> serviceAudits(audits))
                .or(() -> readOnly(action))
                .or(() -> ruleAudits(cause))
                .or(() -> withoutSignals(action))
                .or(() -> withoutPrivilege(cause, action))
                .or(() -> shielded(cause, action))
                .or(() -> perhapsSignalled(action))
                .or(() -> policyGrace(cause, action, detached))
                .or(() -> grace(cause, action, detached))
                .orElse(NOW);
    }

    /**
     * Whether the violation leads to this action as soon as its grace period is over. Only then does its clock run. It also runs if nothing but
     * the mode of the service prevents the action, so that an audit shows what enforcement would do.
     */
    public boolean isInForce(Violation cause, Action action) {
        return switch (judge(cause, action, history.detached(cause), false)) {
            case Verdict.Never _ -> false;
            // The time in which the earlier policy held it back is no time in which the user was to correct it.
            case Verdict.Wait wait -> wait.because != WaitReason.POLICY_GRACE;
            case Verdict.Now() -> true;
        };
    }

    /**
     * Whether later rules may treat the process as gone, because this finding terminates it in this cycle. The mode of the service and the
     * termination limit do not matter.
     */
    public boolean isDue(RuleFinding finding, Action.Terminate action) {
        var detached = History.detachedBy(finding.actions().stream());
        return judge(finding.violation(), action, detached, false).equals(NOW) && !limit.hasFailed(action.target());
    }

    /** 1. Protected processes and those of exempt users are never terminated, nor those that may be an exempt user's. */
    private static Optional<Verdict> immune(Action action) {
        return Optional.ofNullable(action.immunity())
                .filter(immunity -> !immunity.isOver()) // it waits, see policyGrace
                .map(immunity -> new Verdict.Never(
                        immunity.kind() == Immunity.Kind.PROTECTED ? Outcome.SKIPPED_PROTECTED : Outcome.SKIPPED_EXEMPT,
                        immunity.reason()));
    }

    /** 2. A service that only audits executes nothing. */
    private static Optional<Verdict> serviceAudits(boolean audits) {
        return neverIf(audits, Outcome.SKIPPED_AUDIT, "the service only audits");
    }

    /** 3. No action is executed on a host that forbids it, for example because another enforcer acts there. */
    private Optional<Verdict> readOnly(Action action) {
        return history.snapshot(action.host())
                .map(snapshot -> snapshot.details().readOnlyReason())
                .map(reason -> new Verdict.Never(Outcome.SKIPPED_AUDIT, reason));
    }

    /** 4. A rule that is not enforced asks for it. */
    private Optional<Verdict> ruleAudits(Violation cause) {
        return neverIf(!enforced.test(cause.rule()), Outcome.SKIPPED_AUDIT, "the rule only audits");
    }

    /** 5. genv's own setting forbids all signals, but no detachments. */
    private Optional<Verdict> withoutSignals(Action action) {
        return neverIf(
                !enforcement.signals() && action instanceof Action.Terminate,
                Outcome.SKIPPED_AUDIT,
                "GENV_TERMINATE_PROCESSES is 0");
    }

    /**
     * 6. Nothing is detached from a device on which the service may not terminate what runs for the environment, or perhaps does: the device
     * would count as free. Nor does the quota terminate the others there then.
     */
    private Optional<Verdict> withoutPrivilege(Violation cause, Action action) {
        var environment = action.environmentId();
        var isDetachment = action instanceof Action.Detach || cause.rule().equals(Rules.MAX_DEVICES_PER_USER);
        return history.snapshot(action.host()).filter(_ -> isDetachment).stream()
                .flatMap(host -> host.processes().stream()
                        .filter(process -> action.devices().stream()
                                .filter(device -> cause.devices().contains(device))
                                .anyMatch(device -> process.uses(device)
                                        && wouldRunOn(process, environment, device)
                                        && !canTerminate(host, process))))
                .findFirst()
                .map(process -> new Verdict.Never(
                        Outcome.SKIPPED_PRIVILEGE,
                        "the service may not terminate process %d, which would run on".formatted(process.pid())));
    }

    private static boolean wouldRunOn(GpuProcess process, String environment, int device) {
        return process.names(environment)
                || process.isExcusedOn(device)
                || process.membership().equals(Membership.NOT_PERMITTED);
    }

    /** Not what another allocator runs or may run. Without the privilege to read the processes of others, what it can read is its own user's. */
    private static boolean canTerminate(Snapshot host, GpuProcess process) {
        var missing = host.details().missingPrivileges();
        return process.isOfOtherAllocator() == Ternary.NO
                && !process.membership().equals(Membership.NOT_PERMITTED)
                && (!missing.contains(HostProblems.KILL) || missing.contains(HostProblems.SYS_PTRACE));
    }

    /** 7. A claim of the state that is younger than a process is not used against it, because every user can edit the state. */
    private Optional<Verdict> shielded(Violation cause, Action action) {
        if (!(action instanceof Action.Terminate(var host, var process, var _))
                || enforcement.grace().isZero()
                || !cause.rule().dependsOnState()) {
            return Optional.empty();
        }
        var environment = history.environmentOf(host, process).orElse(null);
        if (environment == null) {
            return Optional.empty();
        }
        var claims = history.claims(host);
        var enforcesInactive = enforced.test(Rules.INACTIVE_ENV_PROCESSES);
        if (!enforcesInactive && claims.shieldsFromEnvironment(process, environment)) {
            return Optional.of(new Verdict.Never(
                    Outcome.SKIPPED_PROTECTED,
                    "the process is older than the entry of environment %s"
                            .formatted(SafeText.escape(environment.eid()))));
        }
        return neverIf(
                cause.rule().isEnforcedByUids() && claims.shieldsFromOwner(process, environment),
                Outcome.SKIPPED_PROTECTED,
                "the process is older than the entry that makes uid %d the owner of environment %s"
                        .formatted(environment.uid(), SafeText.escape(environment.eid())));
    }

    /** 8. An earlier run, of which nothing is known, may have sent SIGTERM, and many training programs abort at a second one. */
    private Optional<Verdict> perhapsSignalled(Action action) {
        var left = Duration.ofNanos(heldUntil - counted.mark());
        return left.isPositive() && action instanceof Action.Terminate terminate && terminate.signal() == Signal.TERM
                ? Optional.of(new Verdict.Wait(
                        left,
                        WaitReason.UNCONFIRMED_SIGNAL,
                        Outcome.SKIPPED_UNCONFIRMED,
                        "an earlier run may have signalled it: what that run stored is lost"))
                : Optional.empty();
    }

    /** Holds back SIGTERM for this time, because what an earlier run stored is lost. */
    public void holdSigterm(Duration time) {
        heldUntil = counted.mark() + time.toNanos();
    }

    /**
     * What the policy before a change would do.
     *
     * @param left for how long only this is done
     */
    private record Earlier(Set<Target> asked, Duration left) {}

    /** Has the actions wait that one of the policies before changes does not ask for. */
    void compare(List<EarlierPolicy> others, Function<Policy, List<PlannedAction>> check) {
        earlier = List.of();
        try {
            var compared = new ArrayList<Earlier>();
            for (var its : others) {
                enforced = rule -> its.policy().modeOf(rule) == RuleMode.ENFORCE;
                compared.add(new Earlier(asked(check.apply(its.policy())), its.left()));
            }
            compared.sort(Comparator.comparing(Earlier::left).reversed());
            earlier = List.copyOf(compared);
        } finally {
            enforced = enforcement.rules();
        }
    }

    private Set<Target> asked(List<PlannedAction> actions) {
        return actions.stream()
                .filter(planned -> planned.causes().stream().anyMatch(cause -> isInForce(cause, planned.action())))
                .map(planned -> Target.of(planned.action()))
                .collect(Collectors.toSet());
    }

    /** 9. The policy just became stricter: an action waits that an earlier one does not ask for, because of its values or exemptions. */
    private Optional<Verdict> policyGrace(Violation cause, Action action, Set<HostDevice> detached) {
        var target = Target.of(action);
        var immunity = action.immunity();
        var wasExempt = immunity != null && immunity.isOver();
        return earlier.stream()
                .filter(its -> wasExempt || !its.asked.contains(target))
                .map(Earlier::left)
                .findFirst()
                .or(() -> wasExempt ? Optional.of(Duration.ZERO) : Optional.empty())
                .map(rest -> {
                    var grace = enforcement.grace().isZero() ? Duration.ZERO : history.left(cause, action, detached);
                    return new Verdict.Wait(
                            rest.plus(grace),
                            WaitReason.POLICY_GRACE,
                            Outcome.SKIPPED_GRACE,
                            "the policy changed, and the earlier one does not ask for it");
                });
    }

    /** 10. An action waits until one of its violations was observed for the grace period. */
    private Optional<Verdict> grace(Violation cause, Action action, Set<HostDevice> detached) {
        if (enforcement.grace().isZero()) {
            return Optional.empty();
        }
        var left = history.left(cause, action, detached);
        return left.isPositive()
                ? Optional.of(new Verdict.Wait(
                        left,
                        WaitReason.GRACE,
                        Outcome.SKIPPED_GRACE,
                        "it has not yet lasted " + text(enforcement.grace())))
                : Optional.empty();
    }

    /** 11. A service that is being stopped starts no further action. */
    private Optional<Verdict> stopped() {
        return neverIf(stopped, Outcome.FAILED, "the service is being stopped");
    }

    /** Holds back every action from now on. */
    public void stop() {
        stopped = true;
    }

    /** Decides which of these actions are executed in this cycle, in the same order. */
    public SequencedMap<PlannedAction, Verdict> judge(List<PlannedAction> actions) {
        var verdicts = new LinkedHashMap<PlannedAction, Verdict>();
        actions.forEach(planned -> verdicts.put(planned, judge(planned)));
        var permitted = actions.stream()
                .filter(planned -> NOW.equals(verdicts.get(planned)))
                .toList();
        limit.selectDeferred(permitted, this::lasted).forEach(planned -> verdicts.put(planned, aboveLimit()));
        return verdicts;
    }

    /** 12. One cycle terminates a limited number of processes of a host; those for which no other reason applies count. */
    private Verdict aboveLimit() {
        return new Verdict.Wait(
                Duration.ZERO,
                WaitReason.TERMINATION_LIMIT,
                Outcome.SKIPPED_LIMIT,
                "the limit of %d terminations in one cycle is reached: it waits for the next cycle"
                        .formatted(limit.most()));
    }

    private Duration lasted(PlannedAction planned) {
        return planned.causes().stream()
                .map(cause -> history.lasted(cause, planned.action()))
                .max(Comparator.naturalOrder())
                .orElse(Duration.ZERO);
    }

    /**
     * Returns the actions that follow on each violation if nothing changes, the earliest first: those that wait, those that failed, and the next
     * signals of processes that were signalled.
     *
     * @param signals what these wait for
     * @param observed when the hosts were observed, by the wall clock
     */
    Map<Violation.Key, List<NextAction>> next(
            Map<PlannedAction, Verdict> verdicts,
            List<ActionRecord> results,
            Map<PlannedAction, Verdict.Wait> signals,
            Instant observed) {
        var waiting = new LinkedHashMap<PlannedAction, Verdict.Wait>();
        verdicts.forEach((planned, verdict) -> {
            if (verdict instanceof Verdict.Wait wait) {
                waiting.put(planned, wait);
            }
        });
        for (var done : results) {
            switch (done.result().outcome()) {
                case DENIED, FAILED, SKIPPED_STALE ->
                    waiting.put(
                            done.planned(),
                            new Verdict.Wait(Duration.ZERO, WaitReason.NEXT_CYCLE, Optional.of(done.result())));
                default -> {} // it succeeded, or its verdict says what follows
            }
        }
        var signalled = signals.keySet().stream().map(PlannedAction::process).collect(Collectors.toUnmodifiableSet());
        waiting.keySet().removeIf(planned -> planned.process().isPresent() && signalled.contains(planned.process()));
        signals.forEach((planned, wait) -> {
            if (!(judge(planned) instanceof Verdict.Never)) {
                waiting.put(planned, wait);
            }
        });
        var next = new HashMap<Violation.Key, List<NextAction>>();
        waiting.forEach((planned, wait) -> planned.causes().stream()
                .map(Violation::key)
                .distinct()
                .forEach(key -> next.computeIfAbsent(key, _ -> new ArrayList<>())
                        .add(NextAction.of(planned.action(), observed.plus(wait.left), wait.because))));
        next.values().forEach(actions -> actions.sort(Comparator.comparing(NextAction::notBefore)));
        return next;
    }

    /** Returns a problem for each host whose actions exceed the termination limit. */
    public List<HostProblem> problems(Map<PlannedAction, Verdict> verdicts) {
        var waiting = new LinkedHashMap<String, Integer>();
        verdicts.forEach((planned, verdict) -> {
            if (verdict instanceof Verdict.Wait wait && wait.because == WaitReason.TERMINATION_LIMIT) {
                waiting.merge(planned.action().host(), 1, Integer::sum);
            }
        });
        return waiting.entrySet().stream()
                .map(entry -> new HostProblem(
                        entry.getKey(),
                        new Problem(
                                ProblemCode.TERMINATION_LIMIT_REACHED,
                                "%d processes are to be terminated, but the limit is %d in one cycle: %d wait"
                                        .formatted(limit.most() + entry.getValue(), limit.most(), entry.getValue()))))
                .toList();
    }

    /** Remembers the answers of hosts, for the next cycle. */
    public void remember(List<ActionRecord> answers) {
        limit.remember(answers);
    }

    /**
     * 13. An action is not executed if the observation that it rests on is too old. Time may pass until its host begins with it, so this
     * is checked directly before.
     */
    public static Optional<Result> tooOld(ObservationAge age) {
        return age.isTooOld()
                ? Optional.of(new Result(
                        Outcome.SKIPPED_STALE,
                        "the service was suspended after the observation, or its clock was set: the next cycle decides"
                                + " again"))
                : Optional.empty();
    }

    private static Optional<Verdict> neverIf(boolean applies, Outcome outcome, String why) {
        return applies ? Optional.of(new Verdict.Never(outcome, why)) : Optional.empty();
    }

    private static String text(Duration duration) {
        return duration.toMillis() % 1000 == 0 ? duration.toSeconds() + " s" : duration.toMillis() + " ms";
    }
}

package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Gate.Enforcement;
import dev.genv.enforcer.enforcement.Gate.Verdict;
import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Host.Remembered;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.Rule.RuleFinding;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Every reason applies to the same actions; the test removes one after the other. */
class GateTest {
    private static final Duration GRACE = Duration.ofSeconds(60);

    private final FakeTime time = new FakeTime();
    private final FakeHost node = new FakeHost(host().devices(1)).setTicks(100);
    private final List<String> skips = new ArrayList<>();

    private ServiceMode mode = ServiceMode.AUDIT;
    private RuleMode ruleMode = RuleMode.AUDIT;
    private boolean signals;
    private final Set<RuleDefinition> enforced = new HashSet<>();
    private Duration gracePeriod = GRACE;
    private boolean isStopped = true;
    private @Nullable Gate gate;
    private Plan last = Plan.EMPTY;

    @Test
    void givesTheFirstReasonThatApplies() {
        node.readOnly("another enforcer acts here");
        screen(job().immune(Immunity.Kind.PROTECTED, "it is protected"));
        screen(job());
        mode = ServiceMode.ENFORCE;
        screen(job());
        node.readOnly(null);
        screen(job());
        ruleMode = RuleMode.ENFORCE;
        screen(job());
        signals = true;
        screen(job());
        enforced.add(KnownRules.INACTIVE_ENV_PROCESSES);
        screen(job());
        gracePeriod = Duration.ZERO;
        screen(job());
        isStopped = false;
        screen(job(), process(2).inEnvironment("a").uses(0));

        assertThat(skips)
                .containsExactly(
                        "1 skipped_protected it is protected",
                        "1 skipped_audit the service only audits",
                        "1 skipped_audit another enforcer acts here",
                        "1 skipped_audit the rule only audits",
                        "1 skipped_audit GENV_TERMINATE_PROCESSES is 0",
                        "1 skipped_protected the process is older than the entry of environment a",
                        "1 skipped_grace it has not yet lasted 60 s",
                        "1 failed the service is being stopped",
                        "1 run",
                        "2 skipped_limit the limit of 1 terminations in one cycle is reached: it waits for the next"
                                + " cycle");
    }

    @Test
    void laterRulesTreatOnlyWhatIsTerminatedNowAsGone() {
        isStopped = false;
        ruleMode = RuleMode.ENFORCE;
        enforced.add(KnownRules.INACTIVE_ENV_PROCESSES);
        gracePeriod = Duration.ZERO;
        assertThat(isDue(job())).as("GENV_TERMINATE_PROCESSES is 0").isFalse();
        signals = true;
        assertThat(isDue(job())).as("only the service audits").isTrue();
        mode = ServiceMode.ENFORCE;
        assertThat(isDue(job())).isTrue();
        assertThat(isDue(job().immune(Immunity.Kind.EXEMPT, "it is exempt"))).isFalse();
        gracePeriod = GRACE;
        assertThat(isDue(job())).as("it waits").isFalse();
        gracePeriod = Duration.ZERO;
        ruleMode = RuleMode.AUDIT;
        assertThat(isDue(job())).as("the rule only audits").isFalse();
        ruleMode = RuleMode.ENFORCE;
        node.readOnly("another enforcer acts here");
        assertThat(isDue(job())).isFalse();
    }

    @Test
    void processWhoseSignalFailedIsNotTreatedAsGone() {
        isStopped = false;
        mode = ServiceMode.ENFORCE;
        ruleMode = RuleMode.ENFORCE;
        signals = true;
        gracePeriod = Duration.ZERO;
        screen(job());
        var planned = last.actions().getFirst();
        assertThat(dueNow()).as("its host has not answered").isTrue();
        gate().remember(List.of(new ActionRecord(planned, Result.of(Outcome.DENIED), Instant.EPOCH)));
        assertThat(dueNow()).isFalse();
        screen(job());
        assertThat(dueNow()).as("another gate knows nothing of it").isTrue();
    }

    @Test
    void processThatPerhapsWasSignalledIsNotTreatedAsGone() {
        isStopped = false;
        mode = ServiceMode.ENFORCE;
        ruleMode = RuleMode.ENFORCE;
        signals = true;
        gracePeriod = Duration.ZERO;
        screen(job());
        gate().holdSigterm(Duration.ofSeconds(60));
        assertThat(dueNow()).isFalse();
    }

    /** The missing privileges, whom the second process on the device belongs to, and what happens. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                                        | a          | detach run, terminate 1 run, terminate 2 run
        SYS_PTRACE DAC_READ_SEARCH KILL | a          | detach run, terminate 1 run, terminate 2 run
        KILL                            | a          | detach skipped_privilege, terminate 1 skipped_privilege, terminate 2 skipped_privilege
        SYS_PTRACE DAC_READ_SEARCH KILL | unreadable | detach skipped_privilege, terminate 1 skipped_privilege
        # a security module denies it
                                        | unreadable | detach skipped_privilege, terminate 1 skipped_privilege
        # these no privilege would show
                                        | unknown    | detach run, terminate 1 run
                                        | b          | detach run, terminate 1 run
        # another allocator than genv runs it, or perhaps does
                                        | exempt     | detach skipped_privilege, terminate 1 skipped_privilege, terminate 2 skipped_exempt
                                        | perhaps exempt | detach skipped_privilege, terminate 1 skipped_privilege, terminate 2 skipped_exempt
        STATE_WRITE                     | a          | detach run, terminate 1 run, terminate 2 run
        # on another device that process 1 uses
                                        | elsewhere  | detach run, terminate 1 run
        # without process 1
        KILL                            | only b     | detach run
        KILL                            | only a     | detach skipped_privilege, terminate 2 skipped_privilege
        KILL                            | only excused | detach skipped_privilege
        """)
    void nothingIsDetachedFromADeviceOnWhichSomethingWouldRunOn(
            @Nullable String missing, String second, String expected) {
        var enforcement = new Enforcement(ServiceMode.ENFORCE, _ -> true, true, Duration.ZERO);
        var history = new History(enforcement, Duration.ofSeconds(10), time.ticker());
        var its = new Gate(enforcement, history, 0, time.ticker());
        var other = switch (second) {
            case "unreadable", "elsewhere" -> process(2).unreadable();
            case "only excused" -> process(2).excusedOn(0);
            case "exempt", "perhaps exempt" ->
                process(2)
                        .inEnvironment("a")
                        .immune(new Immunity(
                                Immunity.Kind.EXEMPT_CGROUP, "it is exempt", !second.startsWith("perhaps")));
            case "unknown" -> process(2).membership(new Membership.Unknown("it has overwritten its environ"));
            default -> process(2).inEnvironment(second.replace("only ", ""));
        };
        if (missing != null) {
            node.setMissingPrivileges(missing.split(" ", -1));
        }
        var observed =
                host().devices(2).with(env("a").attached(0)).with(other.uses(second.equals("elsewhere") ? 1 : 0));
        if (!second.startsWith("only")) {
            observed.with(process(1).inEnvironment("a").uses(0, 1));
        }
        var fleet = history.remember(observe(observed, 1_000_000_000), _ -> Remembered.NOTHING);
        var plan = KnownRules.policy(Map.of(KnownRules.MAX_DEVICES_PER_USER, RuleMode.ENFORCE), new Limits(0, Map.of()))
                .check(fleet, Set.of());
        history.remember(plan, its::isInForce);
        var verdicts = new ArrayList<String>();
        its.judge(plan.actions())
                .forEach((planned, verdict) -> verdicts.add(
                        (planned.action() instanceof Action.Detach ? "detach" : "terminate " + pid(planned))
                                + result(verdict)
                                        .map(result -> " " + result.outcome().label())
                                        .orElse(" run")));
        assertThat(verdicts).containsExactlyInAnyOrder(expected.split(", ", -1));
    }

    /** No detachment depends on it: the host answers whether it may. */
    @Test
    void terminationForItsOwnSakeIsTriedWithoutThePrivilege() {
        isStopped = false;
        mode = ServiceMode.ENFORCE;
        ruleMode = RuleMode.ENFORCE;
        signals = true;
        gracePeriod = Duration.ZERO;
        node.setMissingPrivileges("KILL");
        screen(job());
        assertThat(skips).containsExactly("1 run");
    }

    private boolean isDue(GpuProcessBuilder process) {
        screen(process);
        return dueNow();
    }

    private Gate gate() {
        return Objects.requireNonNull(gate);
    }

    private boolean dueNow() {
        var planned = last.actions().getFirst();
        return gate().isDue(new RuleFinding(planned.causes().getFirst(), List.of(planned.action())), (Action.Terminate)
                planned.action());
    }

    /** A process that is older than the environment that it names. */
    private static GpuProcessBuilder job() {
        return process(1).inEnvironment("a").uses(0);
    }

    private void screen(GpuProcessBuilder... processes) {
        var enforcement = new Enforcement(
                mode,
                rule -> rule.equals(KnownRules.ENV_DEVICES) ? ruleMode == RuleMode.ENFORCE : enforced.contains(rule),
                signals,
                gracePeriod);
        var history = new History(enforcement, Duration.ofSeconds(10), time.ticker());
        var its = new Gate(enforcement, history, 1, time.ticker());
        gate = its;
        if (isStopped) {
            its.stop();
        }
        // The environment appears only in the second observation.
        history.remember(observe(host().devices(1), 1_000_000_000), _ -> Remembered.NOTHING);
        var second = host().devices(1).with(env("a")).with(processes);
        var fleet = history.remember(observe(second, 1_000_001_000), _ -> Remembered.NOTHING);
        var policy = KnownRules.policy(Map.of(KnownRules.ENV_DEVICES, ruleMode), Limits.NONE);
        last = policy.check(fleet, Set.of());
        history.remember(last, its::isInForce);
        its.judge(last.actions())
                .forEach((planned, verdict) -> skips.add(pid(planned)
                        + result(verdict)
                                .map(result -> " " + result.outcome().label() + " " + result.detail())
                                .orElse(" run")));
    }

    private static Optional<Result> result(Verdict verdict) {
        return switch (verdict) {
            case Verdict.Now() -> Optional.empty();
            case Verdict.Wait wait -> wait.result();
            case Verdict.Never(var result) -> Optional.of(result);
        };
    }

    private Fleet observe(HostBuilder host, long ticks) {
        var snapshot = node.setSnapshot(host).setTicks(ticks).observe();
        return new Fleet(List.of(snapshot), false, time.ticker().now());
    }

    private static int pid(PlannedAction planned) {
        return planned.action() instanceof Action.Terminate terminate
                ? terminate.process().pid()
                : 0;
    }
}

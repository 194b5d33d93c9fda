package dev.genv.enforcer.store;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.CurrentPolicy;
import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.enforcement.report.Event.EventContent;
import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.enforcement.report.ViolationRecord.NextAction;
import dev.genv.enforcer.enforcement.report.ViolationRecord.WaitReason;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.PolicyDocument;
import dev.genv.enforcer.policy.PolicyInForce;
import dev.genv.enforcer.policy.PolicyValues;
import dev.genv.enforcer.policy.PolicyValues.Kind;
import dev.genv.enforcer.policy.PolicyValues.PolicyKey;
import dev.genv.enforcer.policy.PolicyValues.Text;
import dev.genv.enforcer.policy.RuleConfig.IdleLimits;
import dev.genv.enforcer.policyfile.PolicyReader;
import dev.genv.enforcer.policyfile.PolicyReader.InvalidPolicyException;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** After a change of the policy, only what the policy before it asks for too is done for a while. */
class PolicyGraceTest extends StoreFixture {
    private static final Duration POLICY_GRACE = Duration.ofMinutes(15);
    private static final Duration GRACE = Duration.ofSeconds(30);
    private static final HostBuilder JOB = host().devices(2).with("env a on 0", "process 2 in a on 0");
    private static final String USUAL = "rules: {max-devices-per-user: enforce}\nmax_devices: {default: 2}\n";
    private static final String MISTAKE = USUAL.replace("default: 2", "default: 0");

    private String yaml = USUAL;
    /** What the variables have in the form of the file. */
    private String variables = USUAL;

    private String idleAfter = "PT4H";
    private Duration policyGrace = POLICY_GRACE;

    @Override
    EnforcerConfigBuilder policy(EnforcerConfigBuilder config) {
        return config.policy(new CurrentPolicy(
                this::policyAt,
                values(variables, Instant.EPOCH),
                policyGrace,
                time.ticker().now()));
    }

    private PolicyInForce policyAt(Instant at) {
        var values = values(yaml, at);
        return new PolicyInForce(
                values.policy(IdleLimits.DEFAULT), values, PolicyDocument.empty(ZoneOffset.UTC), Optional.empty());
    }

    private PolicyValues values(String yaml, Instant at) {
        try {
            var settings = PolicyValues.of(
                    List.of(new Text(new PolicyKey(Kind.SETTING, "", "GENV_ENFORCER_IDLE_AFTER"), idleAfter)));
            return PolicyReader.read(yaml.getBytes(StandardCharsets.UTF_8), ZoneOffset.UTC)
                    .at(at, settings);
        } catch (InvalidPolicyException e) {
            throw new IllegalStateException(e);
        }
    }

    @BeforeEach
    void begin() throws IOException {
        limits = new SafetyLimits(GRACE, Duration.ofSeconds(30), 0);
        restart();
        node.setSnapshot(JOB);
        cycles(Duration.ofMinutes(2));
        assertThat(node.executed).isEmpty();
    }

    private void cycles(Duration time) {
        for (var i = 0; i < time.dividedBy(INTERVAL); i++) {
            cycle();
        }
    }

    /** Nothing is done for the first time, and something within the second one. */
    private void assertActs(Duration after, Duration within) {
        cycles(after);
        assertThat(node.executed).isEmpty();
        cycles(within);
        assertThat(node.executed).isNotEmpty();
    }

    private List<NextAction> next() {
        return registry.find(ViolationRecord::active, 10).stream()
                .flatMap(each -> each.next().stream())
                .toList();
    }

    private Stream<List<String>> changes() {
        return events.after(0, 1000).events().stream()
                .flatMap(event -> event.content() instanceof EventContent.PolicyChanged(var changes)
                        ? Stream.of(changes)
                        : Stream.empty());
    }

    @Test
    void theNextCycleReportsAChangeOfOneThatFailed() {
        yaml = MISTAKE;
        var cycle = Thread.currentThread();
        var released = new CountDownLatch(1);
        node.observeWith(() -> {
            cycle.interrupt(); // it waits for this observation
            released.await();
            return JOB.snapshot();
        });
        assertThat(enforcer.runCycle().orElseThrow().result()).isEqualTo(CycleResult.FAILED);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(changes()).isEmpty();
        released.countDown();
        node.setSnapshot(JOB);
        cycle();
        assertThat(changes()).containsExactly(List.of("max_devices.default: 2 -> 0 (line 2 of the policy file)"));
    }

    @Test
    void aMistakeThatIsTakenBackInTimeCostsNothing() {
        yaml = MISTAKE;
        cycle();
        var observed = time.ticker().now();
        assertThat(next()).hasSize(2).allSatisfy(each -> {
            assertThat(each.because()).isEqualTo(WaitReason.POLICY_GRACE);
            assertThat(Duration.between(observed, each.notBefore()))
                    .isBetween(
                            POLICY_GRACE.plus(GRACE).minusSeconds(1),
                            POLICY_GRACE.plus(GRACE).plusSeconds(1));
        });
        assertThat(only().actions())
                .allSatisfy(note -> assertThat(note.outcome()).isEqualTo(Outcome.SKIPPED_GRACE))
                .hasSize(2); // from which the users are warned
        cycles(Duration.ofMinutes(10));
        yaml = USUAL;
        cycles(Duration.ofMinutes(20));
        assertThat(node.executed).isEmpty();
        assertThat(only().active()).isFalse();
        assertThat(changes())
                .containsExactly(
                        List.of("max_devices.default: 2 -> 0 (line 2 of the policy file)"),
                        List.of("max_devices.default: 0 -> 2 (line 2 of the policy file)"));
    }

    @Test
    void afterThatTimeTheNewPolicyApplies() {
        yaml = MISTAKE;
        cycles(POLICY_GRACE.plus(GRACE));
        assertThat(node.executed).isEmpty();
        cycle();
        cycle();
        assertThat(node.executed).hasAtLeastOneElementOfType(Action.Terminate.class);
    }

    @Test
    void anotherChangeDoesNotRenewTheTimeOfAnEarlierOne() {
        yaml = MISTAKE;
        cycles(Duration.ofMinutes(10));
        yaml = MISTAKE + "max_memory: {default: 1g}\n";
        assertActs(Duration.ofMinutes(5), Duration.ofMinutes(2));
    }

    @Test
    void aMistakeUsesUpNoGrace() {
        yaml = MISTAKE;
        cycles(Duration.ofMinutes(10));
        yaml = USUAL;
        cycles(Duration.ofMinutes(20));
        yaml = MISTAKE;
        cycles(Duration.ofMinutes(14));
        yaml = USUAL;
        cycles(Duration.ofMinutes(20));
        yaml = MISTAKE;
        cycle();
        var observed = time.ticker().now();
        assertThat(next())
                .isNotEmpty()
                .allSatisfy(each -> assertThat(Duration.between(observed, each.notBefore()))
                        .isGreaterThan(POLICY_GRACE.plus(GRACE).minusSeconds(1)));
    }

    @Test
    void anotherChangeContinuesATerminationForMemory() {
        yaml = "rules: {max-memory-per-user: enforce}\nmax_memory: {default: 1g}\n";
        node.setSnapshot(host().devices(2).with("process 3 uid 1003 on 0=1500mi"));
        var isSignalled = false;
        for (var i = 0; i < 100 && !isSignalled; i++) {
            cycle();
            isSignalled = !node.executed.isEmpty();
        }
        yaml += "max_devices: {default: 7}\n";
        cycles(Duration.ofMinutes(14));
        assertThat(node.executed)
                .extracting(action -> ((Action.Terminate) action).signal())
                .startsWith(Action.Signal.TERM, Action.Signal.KILL)
                .containsOnlyOnce(Action.Signal.TERM);
    }

    @Test
    void whatThePolicyBeforeTheLastChangeAllowedWaitsToo() {
        yaml = USUAL.replace("default: 2", "default: 1");
        cycles(Duration.ofMinutes(20));
        yaml = USUAL.replace("default: 2", "default: 8");
        cycles(Duration.ofMinutes(3));
        node.setSnapshot(host().devices(2).with("env a on 0,1", "process 2 in a on 0", "process 3 in a on 1"));
        cycles(Duration.ofMinutes(7));
        yaml = USUAL.replace("default: 2", "default: 1");
        assertActs(Duration.ofMinutes(14), Duration.ofMinutes(3));
    }

    @Test
    void aPolicyThatChangesTooOftenHoldsEverything() {
        node.setSnapshot(host().devices(2).with("process 1 on 0"));
        for (var i = 0; i < 70; i++) {
            yaml = "rules: {non-env-processes: enforce}\nmax_devices: {default: %d}\n".formatted(100 + i);
            cycle();
        }
        assertThat(node.executed).isEmpty();
        assertActs(Duration.ofMinutes(14), Duration.ofMinutes(3));
    }

    @Test
    void aShorterTimeAppliesToAnEarlierChangeToo() throws IOException {
        yaml = MISTAKE;
        cycles(Duration.ofMinutes(1));
        policyGrace = Duration.ofMinutes(2);
        restart();
        assertActs(Duration.ofMinutes(1), Duration.ofMinutes(2));
    }

    @Test
    void withoutStoredValuesThoseOfTheVariablesCountAsEarlier() throws IOException {
        directory = Files.createDirectory(directory.resolve("empty"));
        yaml = MISTAKE;
        restart();
        assertActs(POLICY_GRACE, Duration.ofMinutes(2));
    }

    @Test
    void afterALossEverythingWaits() throws IOException {
        directory = Files.createDirectory(directory.resolve("damaged"));
        Files.writeString(directory.resolve(DataFolder.DATABASE), "no database".repeat(1000));
        yaml = MISTAKE;
        variables = MISTAKE;
        restart();
        assertActs(Duration.ofMinutes(14), Duration.ofMinutes(3));
    }

    @Test
    void whatBothPoliciesAskForIsDone() {
        node.setSnapshot(host().devices(2).with("env a on 0,1", "process 2 in a on 0"));
        yaml = USUAL.replace("default: 2", "default: 1");
        cycles(Duration.ofMinutes(18));
        assertThat(node.executed).isNotEmpty(); // the device without a process
        node.executed.clear();

        yaml = MISTAKE;
        node.setSnapshot(host().devices(2).with("env b on 0,1", "process 3 in b on 0"));
        cycles(Duration.ofMinutes(5));
        assertThat(node.executed)
                .isNotEmpty()
                .allSatisfy(action -> assertThat(action).isInstanceOf(Action.Detach.class))
                .allSatisfy(action -> assertThat(action.devices()).containsExactly(1));
    }

    @Test
    void aMilderPolicyAppliesAtOnce() {
        yaml = MISTAKE;
        cycles(Duration.ofMinutes(14));
        yaml = USUAL.replace("default: 2", "default: 4");
        cycle();
        assertThat(only().active()).isFalse();
        cycles(Duration.ofMinutes(20));
        assertThat(node.executed).isEmpty();
    }

    @Test
    void anotherModeOfARuleIsAChangeToo() {
        node.setSnapshot(host().devices(2).with("process 1 on 0"));
        cycles(Duration.ofMinutes(2));
        yaml = USUAL.replace("enforce}", "enforce, non-env-processes: enforce}");
        assertActs(POLICY_GRACE, Duration.ofMinutes(2));
    }

    @Test
    void aRestartWithAnotherPolicyIsAChange() throws IOException {
        yaml = MISTAKE;
        restart();
        cycles(Duration.ofMinutes(10));
        assertThat(node.executed).isEmpty();
        restart();
        assertActs(Duration.ofMinutes(4), Duration.ofMinutes(3));
    }

    @Test
    void afterARestartWithAnotherSettingEverythingWaits() throws IOException {
        directory = Files.createDirectory(directory.resolve("empty"));
        yaml = MISTAKE;
        variables = MISTAKE;
        restart();
        cycle();
        idleAfter = "PT1H";
        restart();
        cycles(Duration.ofMinutes(14));
        assertThat(node.executed).isEmpty();
        assertThat(changes()).containsExactly(List.of("GENV_ENFORCER_IDLE_AFTER: PT4H -> PT1H (the earlier policy)"));
        cycles(Duration.ofMinutes(3));
        assertThat(node.executed).isNotEmpty();
    }

    @Test
    void aRestartTakesAMistakeBack() throws IOException {
        yaml = MISTAKE;
        restart();
        cycles(Duration.ofMinutes(10));
        yaml = USUAL;
        restart();
        cycles(Duration.ofMinutes(20));
        assertThat(node.executed).isEmpty();
    }

    @Test
    void afterARebootTheTimeBeginsAnew() throws IOException {
        yaml = MISTAKE;
        cycles(Duration.ofMinutes(10));
        processes = "boot 2";
        restart();
        assertActs(Duration.ofMinutes(14), Duration.ofMinutes(3));
    }

    @Test
    void withoutGraceAChangeAppliesAtOnce() throws IOException {
        policyGrace = Duration.ZERO;
        restart();
        yaml = MISTAKE;
        cycles(Duration.ofMinutes(1));
        assertThat(node.executed).isNotEmpty();
    }

    @ParameterizedTest
    @EnumSource(names = {"EXEMPT_BEFORE", "EXEMPT_CGROUP_BEFORE"})
    void whoIsNoLongerExemptIsWarned(Immunity.Kind kind) {
        yaml = USUAL.replace("enforce}", "enforce, non-env-processes: enforce}") + "exempt: {users: [svc]}\n";
        cycles(Duration.ofMinutes(20));
        node.setSnapshot(host().devices(2).with(process(7).uses(0).immune(kind, "it was exempt")));
        yaml = yaml.replace("exempt: {users: [svc]}\n", "");
        cycle();
        assertThat(next()).extracting(NextAction::because).containsExactly(WaitReason.POLICY_GRACE);
        cycles(Duration.ofMinutes(30)); // with a mark that stays for too long
        assertThat(node.executed).isEmpty();
    }

    @Test
    void whoIsNoLongerExemptStaysSoForThatTime() {
        yaml = USUAL + "exempt: {users: [svc]}\n";
        cycles(Duration.ofMinutes(20));
        assertThat(node.policy.all().keySet()).anyMatch(key -> key.name().equals("svc"));
        yaml = USUAL;
        cycles(POLICY_GRACE);
        assertThat(node.policy.all().keySet()).anyMatch(key -> key.name().equals("svc"));
        cycle();
        assertThat(node.policy.all().keySet()).noneMatch(key -> key.name().equals("svc"));
    }
}

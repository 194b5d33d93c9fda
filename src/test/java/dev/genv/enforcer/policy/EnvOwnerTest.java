package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.HostBuilder.host;
import static dev.genv.enforcer.testsupport.HostBuilder.remote;
import static dev.genv.enforcer.testsupport.Plans.terminatedPids;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Named.named;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Immunity;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Plan;
import dev.genv.enforcer.policy.plan.RuleMode;
import dev.genv.enforcer.policy.plan.RuleName;
import dev.genv.enforcer.policy.plan.Violation;
import dev.genv.enforcer.testsupport.EnvBuilder;
import dev.genv.enforcer.testsupport.GpuProcessBuilder;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class EnvOwnerTest {
    @Test
    void aProcessOfAnotherUserIsReported() {
        var plan = audit(host().devices(1)
                .with(env("a").attached(0))
                .with(process(1).inEnvironment("a").uid(1007).uses(0))
                .fleet());

        assertThat(plan.violations()).singleElement().satisfies(violation -> {
            assertThat(violation.message()).isEqualTo("Process 1 of uid 1007 names environment a of uid 1000");
            assertThat(violation.user()).isEqualTo("raz");
            assertThat(violation.environment()).isEqualTo("a");
            assertThat(violation.devices()).containsExactly(0);
        });
        assertThat(plan.actions()).isEmpty();
    }

    @Test
    void ignoresProcessesOfOwnerRootAndUnknownUid() {
        var plan = audit(host().devices(1)
                .with(env("a").attached(0))
                .with(
                        process(1).inEnvironment("a").uses(0),
                        process(2).inEnvironment("a").uid(0).uses(0),
                        process(3).inEnvironment("a").uidUnknown().uses(0),
                        process(4).inEnvironment("gone").uid(1007).uses(0))
                .fleet());

        assertThat(plan.violations()).isEmpty();
    }

    @Test
    void plansToTerminateAStrangerWhenTheKernelConfirmsBothUids() {
        var environment = env("a").livePidsOf(1000).attached(0);
        assertThat(terminatedPids(check(
                        RuleMode.ENFORCE,
                        environment,
                        process(1).inEnvironment("a").uid(1007).uses(0))))
                .containsExactly(1);
    }

    @Test
    void treatsSubordinateUidOfTheOwnerAsTheOwner() {
        var node = host().devices(1)
                .subordinate(1000, 165_536, 65_536)
                .with(env("a").livePidsOf(1000).attached(0))
                .with(process(1).inEnvironment("a").uid(165_536).uses(0));
        assertThat(new Policy(Map.of(RuleName.ENV_OWNER, RuleMode.ENFORCE), DeviceLimits.NONE)
                        .check(node.fleet(), Set.of()))
                .isEqualTo(Plan.EMPTY);
    }

    /** Somebody wrote it anew with his own uid and pid: the owner's shell is still alive. */
    @Test
    void plansNoActionWhenTheShellOfTheEnvironmentHasAnotherUid() {
        var taken = env("4711").uid(1008).livePidsOf(1008).pids(99).attached(0);
        var job = process(1).inEnvironment("4711").uses(0);
        var plan = new Policy(Map.of(RuleName.ENV_OWNER, RuleMode.ENFORCE), DeviceLimits.NONE)
                .check(host().devices(1).with(taken).with(job).pidOf(4711, 1000).fleet(), Set.of());
        assertThat(plan.actions()).isEmpty();
        assertThat(plan.violations()).hasSize(1);
    }

    @ParameterizedTest
    @MethodSource("unproven")
    void plansNoActionUnlessTheKernelConfirmsAStranger(EnvBuilder environment, GpuProcessBuilder process) {
        assertThat(check(RuleMode.ENFORCE, environment, process).actions()).isEmpty();
    }

    static Stream<Arguments> unproven() {
        var stranger = process(1).inEnvironment("a").uid(1007).uses(0);
        return Stream.of(
                arguments(named("no live pid is known", env("a")), stranger),
                arguments(named("its pids are of another uid than it records", env("a").livePidsOf(1001)), stranger),
                arguments(named("it is disputed", env("a").disputed("so")), stranger),
                arguments(
                        named(
                                "a container of genv's own toolkit",
                                env("a").withoutUsername().uid(0).livePidsOf(0)),
                        stranger),
                arguments(
                        named("the process is root's", env("a").livePidsOf(1000)),
                        process(1).inEnvironment("a").uid(0).uses(0)),
                arguments(
                        named("the uid of the process is not known", env("a").livePidsOf(1000)),
                        process(1).inEnvironment("a").uidUnknown().uses(0)),
                arguments(
                        named("the process is the owner's", env("a").livePidsOf(1000)),
                        process(1).inEnvironment("a").uses(0)));
    }

    /** Others who cannot be terminated must not hide those who can. */
    @Test
    void terminatesStrangerDespiteManyUnprovenStrangers() {
        var many = IntStream.rangeClosed(2, EnvOwner.MAX_FINDINGS + 5)
                .mapToObj(pid -> process(pid).inEnvironment("a").uid(1007).uses(0))
                .toArray(GpuProcessBuilder[]::new);
        var plan = new Policy(Map.of(RuleName.ENV_OWNER, RuleMode.ENFORCE), DeviceLimits.NONE)
                .check(
                        host().devices(1)
                                .with(env("a"), env("b").livePidsOf(1000))
                                .with(many)
                                .with(process(7000).inEnvironment("b").uid(1007).uses(0))
                                .fleet(),
                        Set.of());
        assertThat(terminatedPids(plan)).containsExactly(7000);
    }

    @Test
    void aDisputeIsReported() {
        var plan = audit(remote(host("gpu-1").with(env("a").disputed("user raz has uid 7, not 1000"))));

        assertThat(plan.violations())
                .extracting(Violation::message)
                .containsExactly("[gpu-1] Environment a is disputed: user raz has uid 7, not 1000");
    }

    /** Whoever writes thousands of them into the state must not fill the memory. */
    @Test
    void listsAtMostTheMaximumAndCountsTheRest() {
        var disputed = IntStream.rangeClosed(1, EnvOwner.MAX_FINDINGS + 5)
                .mapToObj(number -> env("d%04d".formatted(number)).disputed("so"))
                .toArray(EnvBuilder[]::new);
        var strangers = IntStream.rangeClosed(1, EnvOwner.MAX_FINDINGS + 1)
                .mapToObj(pid -> process(pid).inEnvironment("own").uid(1007).uses(0))
                .toArray(GpuProcessBuilder[]::new);
        var plan = audit(host().devices(1)
                .with(disputed)
                .with(env("own").attached(0))
                .with(strangers)
                .fleet());

        assertThat(plan.violations())
                .filteredOn(violation -> violation.processes().isEmpty())
                .hasSize(EnvOwner.MAX_FINDINGS)
                .extracting(Violation::environment)
                .contains("d0001", "d0100");
        assertThat(plan.violations())
                .filteredOn(violation -> !violation.processes().isEmpty())
                .hasSize(EnvOwner.MAX_FINDINGS);
        assertThat(plan.problems()).singleElement().satisfies(of -> {
            assertThat(of.host()).isEqualTo("here");
            assertThat(of.problem().code()).isEqualTo(ProblemCode.MORE_DISPUTES);
            assertThat(of.problem().detail()).startsWith("105 environments are disputed and 101 processes");
        });
    }

    @Test
    void reportsNoProblemWhenAllDisputesAreListed() {
        var disputed = IntStream.rangeClosed(1, EnvOwner.MAX_FINDINGS)
                .mapToObj(number -> env("d" + number).disputed("so"))
                .toArray(EnvBuilder[]::new);

        var plan = audit(host().with(disputed).fleet());

        assertThat(plan.violations()).hasSize(EnvOwner.MAX_FINDINGS);
        assertThat(plan.problems()).isEmpty();
    }

    @Test
    void reportsNothingWhenEnvironmentsAreMissing() {
        var plan = audit(host().with(env("a").disputed("so"))
                .missing(SnapshotPart.ENVIRONMENTS)
                .fleet());

        assertThat(plan.violations()).isEmpty();
    }

    @Test
    void disputedEnvironmentCountsInNoQuotaAndIsNotDetached() {
        var plan = new Policy(Map.of(RuleName.MAX_DEVICES_PER_USER, RuleMode.ENFORCE), new DeviceLimits(1, Map.of()))
                .check(
                        host().devices(3)
                                .with(
                                        env("a").attached(0),
                                        env("b").attached(1, 2).disputed("so"))
                                .fleet(),
                        Set.of());

        assertThat(plan.violations()).isEmpty();
        assertThat(plan.actions()).isEmpty();
    }

    /** What is not ended goes on holding its memory, so another one must go, or nobody can. */
    @Test
    void immuneProcessIsNotTerminatedForMemory() {
        var server = process(1).inEnvironment("a").uses(0, "900mi").immune(Immunity.Kind.PROTECTED, "so");
        var job = process(2).inEnvironment("a").uses(0, "200mi");
        var environment = env("a").capacity("1000mi").attached(0);

        assertThat(terminatedForMemory(
                        host().devices(1).with(environment).with(server, job).fleet()))
                .containsExactly(2);
        assertThat(terminatedForMemory(host().devices(1)
                        .with(env("a").capacity("100mi").attached(0))
                        .with(server)
                        .fleet()))
                .isEmpty();
    }

    @Test
    void immuneProcessSelectedByAnotherRuleFreesNoMemory() {
        var both = new Policy(
                Map.of(RuleName.ENV_DEVICES, RuleMode.ENFORCE, RuleName.ENV_MEMORY, RuleMode.ENFORCE),
                DeviceLimits.NONE);
        var plan = both.check(
                host().devices(2)
                        .with(env("a").capacity("1000mi").attached(0))
                        .with(
                                process(1)
                                        .inEnvironment("a")
                                        .uses(0, "900mi")
                                        .uses(1)
                                        .immune(Immunity.Kind.EXEMPT, "so"),
                                process(2).inEnvironment("a").uses(0, "200mi"))
                        .fleet(),
                Set.of());

        assertThat(plan.actions())
                .filteredOn(planned -> planned.rules().contains(RuleName.ENV_MEMORY))
                .extracting(planned ->
                        ((Action.Terminate) planned.action()).process().pid())
                .containsExactly(2);
    }

    private static List<Integer> terminatedForMemory(Fleet fleet) {
        return new Policy(Map.of(RuleName.ENV_MEMORY, RuleMode.ENFORCE), DeviceLimits.NONE)
                .check(fleet, Set.of()).actions().stream()
                        .map(planned ->
                                ((Action.Terminate) planned.action()).process().pid())
                        .toList();
    }

    private static Plan check(RuleMode mode, EnvBuilder environment, GpuProcessBuilder process) {
        return new Policy(Map.of(RuleName.ENV_OWNER, mode), DeviceLimits.NONE)
                .check(host().devices(1).with(environment).with(process).fleet(), Set.of());
    }

    private static Plan audit(Fleet fleet) {
        return new Policy(Map.of(RuleName.ENV_OWNER, RuleMode.AUDIT), DeviceLimits.NONE).check(fleet, Set.of());
    }
}

package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.Plans.enforcingPolicy;
import static dev.genv.enforcer.testsupport.builder.Plans.terminatedPids;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Named.named;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Which processes in environments of other users the rule terminates: only those that the kernel proves to be strangers. */
class StrangerTest {
    @Test
    void plansToTerminateAStrangerWhenTheKernelConfirmsBothUids() {
        var environment = env("a").livePidsOf(1000).attached(0);
        assertThat(terminatedPids(check(
                        environment, process(1).inEnvironment("a").uid(1007).uses(0))))
                .containsExactly(1);
    }

    @Test
    void treatsSubordinateUidOfTheOwnerAsTheOwner() {
        var node = host().devices(1)
                .subordinate(1000, 165_536, 65_536)
                .with(env("a").livePidsOf(1000).attached(0))
                .with(process(1).inEnvironment("a").uid(165_536).uses(0));
        assertThat(enforcingPolicy(Limits.NONE, KnownRules.ENV_OWNER).check(node.fleet(), Set.of()))
                .isEqualTo(Plan.EMPTY);
    }

    /** Another user replaced the entry by one with their own uid and pid; the owner's shell is still alive. */
    @Test
    void plansNoActionWhenTheShellOfTheEnvironmentHasAnotherUid() {
        var taken = env("4711").uid(1008).livePidsOf(1008).pids(99).attached(0);
        var job = process(1).inEnvironment("4711").uses(0);
        var plan = enforcingPolicy(Limits.NONE, KnownRules.ENV_OWNER)
                .check(host().devices(1).with(taken).with(job).pidOf(4711, 1000).fleet(), Set.of());
        assertThat(plan.actions()).isEmpty();
        assertThat(plan.violations()).hasSize(1);
    }

    @ParameterizedTest
    @MethodSource("unproven")
    void plansNoActionUnlessTheKernelConfirmsAStranger(EnvBuilder environment, GpuProcessBuilder process) {
        assertThat(check(environment, process).actions()).isEmpty();
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

    /** Unproven strangers, which are never terminated, must not displace proven ones. */
    @Test
    void terminatesStrangerDespiteManyUnprovenStrangers() {
        var many = IntStream.rangeClosed(2, EnvOwnerRule.MAX_FINDINGS + 5)
                .mapToObj(pid -> process(pid).inEnvironment("a").uid(1007).uses(0))
                .toArray(GpuProcessBuilder[]::new);
        var plan = enforcingPolicy(Limits.NONE, KnownRules.ENV_OWNER)
                .check(
                        host().devices(1)
                                .with(env("a"), env("b").livePidsOf(1000))
                                .with(many)
                                .with(process(7000).inEnvironment("b").uid(1007).uses(0))
                                .fleet(),
                        Set.of());
        assertThat(terminatedPids(plan)).containsExactly(7000);
    }

    private static Plan check(EnvBuilder environment, GpuProcessBuilder process) {
        return enforcingPolicy(Limits.NONE, KnownRules.ENV_OWNER)
                .check(host().devices(1).with(environment).with(process).fleet(), Set.of());
    }
}

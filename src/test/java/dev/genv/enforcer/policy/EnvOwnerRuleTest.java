package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.remote;
import static dev.genv.enforcer.testsupport.builder.Plans.enforcingPolicy;
import static dev.genv.enforcer.testsupport.builder.Plans.terminatedPids;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class EnvOwnerRuleTest {
    @Test
    void aDisputeIsReported() {
        var plan = audit(remote(host("gpu-1").with(env("a").disputed("user raz has uid 7, not 1000"))));

        assertThat(plan.violations())
                .extracting(Violation::message)
                .containsExactly("[gpu-1] Environment a is disputed: user raz has uid 7, not 1000");
        assertThat(plan.problems()).as("all are listed").isEmpty();
    }

    /** A user can write thousands of them into the state. */
    @Test
    void listsAtMostTheMaximumAndCountsTheRest() {
        var disputed = IntStream.rangeClosed(1, EnvOwnerRule.MAX_FINDINGS + 5)
                .mapToObj(number -> env("d%04d".formatted(number)).disputed("so"))
                .toArray(EnvBuilder[]::new);
        var strangers = IntStream.rangeClosed(1, EnvOwnerRule.MAX_FINDINGS + 1)
                .mapToObj(pid -> process(pid).inEnvironment("own").uid(1007).uses(0))
                .toArray(GpuProcessBuilder[]::new);
        var plan = audit(host().devices(1)
                .with(disputed)
                .with(env("own").attached(0))
                .with(strangers)
                .fleet());

        assertThat(plan.violations())
                .filteredOn(violation -> violation.processes().isEmpty())
                .hasSize(EnvOwnerRule.MAX_FINDINGS)
                .extracting(Violation::environment)
                .contains("d0001", "d0100");
        assertThat(plan.violations())
                .filteredOn(violation -> !violation.processes().isEmpty())
                .hasSize(EnvOwnerRule.MAX_FINDINGS);
        assertThat(plan.problems()).singleElement().satisfies(of -> {
            assertThat(of.host()).isEqualTo("here");
            assertThat(of.problem().code()).isEqualTo(ProblemCode.MORE_DISPUTES);
            assertThat(of.problem().detail()).startsWith("105 environments are disputed and 101 processes");
        });
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

    private static Plan audit(Fleet fleet) {
        return KnownRules.policy(Map.of(KnownRules.ENV_OWNER, RuleMode.AUDIT), Limits.NONE)
                .check(fleet, Set.of());
    }
}

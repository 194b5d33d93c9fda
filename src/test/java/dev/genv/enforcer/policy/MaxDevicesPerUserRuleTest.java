package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.remote;
import static dev.genv.enforcer.testsupport.builder.Plans.detachments;
import static dev.genv.enforcer.testsupport.builder.Plans.enforcingPolicy;
import static dev.genv.enforcer.testsupport.builder.Plans.lines;
import static dev.genv.enforcer.testsupport.builder.Plans.terminatedPids;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Who holds too much, and what that means. Which devices go first is another matter: {@code HoldingTest}. */
class MaxDevicesPerUserRuleTest {

    @Test
    void detachesSurplusDeviceAndTerminatesItsProcess() {
        var plan = check(
                0, raz().with(process(67708).inEnvironment("67609").uses(0)).fleet());
        assertThat(lines(plan))
                .containsExactly(
                        "User raz is using 1 devices which is 1 more than the maximum allowed",
                        "Terminating process 67708 from environment 67609 that is running on GPU(s) 0",
                        "Detaching environment 67609 of user raz from device 0");
    }

    @Test
    void violationNamesUserDevicesAndProcesses() {
        var plan = check(
                0, raz().with(process(67708).inEnvironment("67609").uses(0)).fleet());
        assertThat(plan.violations())
                .containsExactly(new Violation(
                        KnownRules.MAX_DEVICES_PER_USER,
                        "here",
                        "user raz",
                        "User raz is using 1 devices which is 1 more than the maximum allowed",
                        "raz",
                        null,
                        List.of(0),
                        List.of(process(67708).inEnvironment("67609").uses(0).build())));
    }

    @Test
    void doesNothingWithinTheLimit() {
        assertThat(check(1, raz().fleet())).isEqualTo(Plan.EMPTY);
        assertThat(check(2, raz().fleet())).isEqualTo(Plan.EMPTY);
        assertThat(check(Limits.NONE, raz().fleet())).isEqualTo(Plan.EMPTY);
    }

    @Test
    void userLimitAppliesWithoutGeneralLimit() {
        var limits = new Limits(null, Map.of("john", 1));
        var plan = check(limits, johnAndPaul());
        assertThat(plan.violations()).extracting(Violation::user).containsExactly("john");
        assertThat(detachments(plan)).containsExactly("here/1 j");
    }

    @Test
    void userLimitOverridesGeneralLimit() {
        assertThat(detachments(check(new Limits(1, Map.of("john", 2)), johnAndPaul())))
                .containsExactly("here/3 p");
        assertThat(detachments(check(new Limits(2, Map.of("john", 0)), johnAndPaul())))
                .containsExactly("here/0 j", "here/1 j");
    }

    @Test
    void userWithoutNameIsIdentifiedByUid() {
        var plan = check(
                new Limits(null, Map.of("1003", 0)),
                host().devices(1)
                        .with(env("a").withoutUsername().uid(1003).attached(0))
                        .fleet());
        assertThat(lines(plan))
                .containsExactly(
                        "User 1003 is using 1 devices which is 1 more than the maximum allowed",
                        "Detaching environment a of user N/A from device 0");
    }

    @Test
    void uidZeroWithoutNameCountsForNoUserAndIsReported() {
        var plan = check(
                0,
                host().devices(2)
                        .with(
                                env("a").withoutUsername().uid(0).attached(0, 1),
                                env("b").withoutUsername().uid(0))
                        .fleet());
        assertThat(lines(plan)).isEmpty();
        assertThat(plan.problems()).singleElement().satisfies(problem -> {
            assertThat(problem.host()).isEqualTo("here");
            assertThat(problem.problem().code()).isEqualTo(ProblemCode.ENVIRONMENT_USER_UNKNOWN);
            assertThat(problem.problem().detail()).startsWith("Environment a has neither a user name nor a uid");
        });
    }

    @Test
    void namedRootCountsAsAUser() {
        var plan = check(
                0,
                host().devices(1).with(env("a").user("root").uid(0).attached(0)).fleet());
        assertThat(detachments(plan)).containsExactly("here/0 a");
    }

    @Test
    void sharedDeviceCountsOnceAndIsDetachedFromAllOfTheUser() {
        var shared = host().devices(2)
                .with(
                        env("a").attached(0, 1),
                        env("b").attached(1),
                        env("c").user("paul").attached(1))
                .with(
                        process(1).inEnvironment("b").uses(1),
                        process(2).inEnvironment("c").uses(1),
                        process(3).inEnvironment("a").uses(0))
                .fleet();
        assertThat(check(2, shared)).isEqualTo(Plan.EMPTY);
        var plan = check(new Limits(null, Map.of("raz", 0)), shared);
        assertThat(lines(plan)).contains("User raz is using 2 devices which is 2 more than the maximum allowed");
        assertThat(detachments(plan)).containsExactly("here/0 a", "here/1 a", "here/1 b");
        assertThat(terminatedPids(plan)).containsExactly(1, 3);
    }

    @Test
    void terminatesOnlyProcessesOfTheEnvironmentOnTheDetachedDevice() {
        var plan = check(
                new Limits(null, Map.of("raz", 1)),
                host().devices(3)
                        .with(env("a").attached(0), env("b").attachedAt("21/11/2026 00:00:00", 1))
                        .with(env("c").user("paul").attached(1))
                        .with(
                                process(1).inEnvironment("a").uses(0),
                                process(2).inEnvironment("b").uses(1),
                                process(3).inEnvironment("b").uses(2))
                        .with(
                                process(4).inEnvironment("c").uses(1),
                                process(5).uses(1),
                                process(6).inEnvironment("b").uid(7).uses(1, 2))
                        .with(
                                process(8).inEnvironment("a").uses(1),
                                process(9).membershipUnknown().uses(1))
                        .fleet());
        assertThat(detachments(plan)).containsExactly("here/1 b");
        assertThat(terminatedPids(plan)).containsExactly(2, 6);
    }

    @Test
    void countsOnlyDevicesListedByTheGpuTool() {
        var fleet =
                host().devices(3).unlisted(1).with(env("a").attached(0, 1, 2)).fleet();
        assertThat(lines(check(1, fleet)))
                .first()
                .isEqualTo("User raz is using 2 devices which is 1 more than the maximum allowed");
        assertThat(detachments(check(0, fleet))).containsExactly("here/0 a", "here/2 a");
    }

    @Test
    void countsDevicesOnAllHostsOfTheUser() {
        var hosts = new HostBuilder[5];
        for (var i = 0; i < hosts.length; i++) {
            hosts[i] =
                    host("gpu-" + i).devices(4).with(env("a").user("alice").attached(i == 4 ? new int[0] : devices(i)));
        }
        var plan = check(8, remote(hosts));
        assertThat(lines(plan))
                .first()
                .isEqualTo("User alice is using 10 devices on 5 hosts which is 2 more than the maximum allowed");
        assertThat(plan.actions()).hasSize(2);
        assertThat(plan.violations().getFirst().host()).isNull();
    }

    @Test
    void messageNamesTheNumberOfHostsEvenIfItIsOne() {
        var plan = check(0, remote(raz(), host("idle").devices(1).with(env("p").user("paul"))));
        assertThat(lines(plan))
                .first()
                .isEqualTo("User raz is using 1 devices on 1 hosts which is 1 more than the maximum allowed");
    }

    @Test
    void violationKeyStaysTheSameWhenAnotherHostIsAdded() {
        var alone = check(0, remote(raz())).violations().getFirst();
        var joined = check(0, remote(raz(), host("gpu-2").devices(1).with(env("a").attached(0))));
        assertThat(joined.violations()).extracting(Violation::key).containsExactly(alone.key());
    }

    @ParameterizedTest
    @EnumSource(value = SnapshotPart.class, mode = EnumSource.Mode.EXCLUDE, names = "EVERY_ENVIRON")
    void incompleteHostIsNotCounted(SnapshotPart missing) {
        var fleet = remote(
                raz(),
                host("gpu-2").devices(4).with(env("a").attached(0, 1, 2, 3)).missing(missing));
        assertThat(check(1, fleet)).isEqualTo(Plan.EMPTY);
        assertThat(detachments(check(0, fleet))).containsExactly("here/0 67609");
    }

    @Test
    void disputedEnvironmentCountsInNoQuotaAndIsNotDetached() {
        var plan = check(
                1,
                host().devices(3)
                        .with(env("a").attached(0), env("b").attached(1, 2).disputed("so"))
                        .fleet());

        assertThat(plan.violations()).isEmpty();
        assertThat(plan.actions()).isEmpty();
    }

    private static int[] devices(int host) {
        return host % 2 == 0 ? new int[] {0, 1, 2} : new int[] {0, 3};
    }

    private static HostBuilder raz() {
        return host().devices(1).with(env("67609").attached(0));
    }

    private static Fleet johnAndPaul() {
        return host().devices(4)
                .with(
                        env("j").user("john").attached(0, 1),
                        env("p").user("paul").attached(2, 3))
                .fleet();
    }

    private static Plan check(int limit, Fleet fleet) {
        return check(new Limits(limit, Map.of()), fleet);
    }

    private static Plan check(Limits limits, Fleet fleet) {
        return enforcingPolicy(limits, KnownRules.MAX_DEVICES_PER_USER).check(fleet, Set.of());
    }
}

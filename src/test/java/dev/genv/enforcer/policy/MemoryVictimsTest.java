package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.id;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.Plans.enforce;
import static dev.genv.enforcer.testsupport.builder.Plans.enforcingPolicy;
import static dev.genv.enforcer.testsupport.builder.Plans.terminatedPids;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Whom to end where environment a uses more than its 1000mi. */
class MemoryVictimsTest {

    @Test
    void selectsSmallestProcessThatFreesEnough() {
        var plan = check(using(1, "600mi"), using(2, "500mi"), using(3, "499mi"), using(4, "400mi"), using(5, "1mi"));
        assertThat(terminatedPids(plan))
                .as("1000mi too much: nobody frees that alone")
                .hasSizeGreaterThan(1);
        assertThat(terminatedPids(check(using(1, "600mi"), using(2, "500mi"), using(3, "400mi"))))
                .containsExactly(2);
        assertThat(terminatedPids(check(using(1, "900mi"), using(2, "300mi"), using(3, "200mi"))))
                .containsExactly(1);
    }

    @Test
    void selectsNewestProcessAmongEqualSizes() {
        var plan = check(
                using(1, "400mi"),
                using(2, "400mi").startedLaterBy(5),
                using(3, "400mi").startedLaterBy(4));
        assertThat(terminatedPids(plan)).containsExactly(2);
    }

    @Test
    void selectsHighestPidAmongEqualSizesAndAges() {
        var plan = check(using(1, "400mi"), using(3, "400mi"), using(2, "400mi"));
        assertThat(terminatedPids(plan)).containsExactly(3);
    }

    @Test
    void sizeOutranksAge() {
        var plan = check(
                using(1, "401mi").startedLaterBy(9),
                using(2, "400mi"),
                using(3, "402mi").startedLaterBy(9));
        assertThat(terminatedPids(plan)).containsExactly(2);
    }

    @Test
    void selectsLargestRepeatedlyWhenNoProcessAloneFreesEnough() {
        assertThat(terminatedPids(check(using(1, "400mi"), using(2, "700mi"), using(3, "600mi"), using(4, "300mi"))))
                .as("700mi first; then 300mi are enough")
                .containsExactly(2, 4);
        assertThat(terminatedPids(check(
                        using(1, "900mi"), using(2, "900mi").startedLaterBy(1), using(3, "900mi"), using(4, "90mi"))))
                .as("the newest of the largest; then any other of them")
                .containsExactly(2, 3);
    }

    @Test
    void deselectsProcessThatBecomesUnnecessary() {
        var plan = enforce(
                host().devices(2)
                        .with(env("a").capacity("1000mi").attached(0, 1))
                        .with(using(1, "400mi"), using(2, "900mi").uses(1, "1200mi"))
                        .fleet(),
                KnownRules.ENV_MEMORY);
        assertThat(terminatedPids(plan))
                .as("1 would do for device 0, but device 1 needs 2")
                .containsExactly(2);
        assertThat(plan.actions().getFirst().causes()).hasSize(2);
    }

    @Test
    void neverTerminatesProcessWithZeroOrUnknownMemory() {
        var plan = check(using(1, "0"), in("a", 2).usesUnknown(0), using(3, "1001mi"));
        assertThat(terminatedPids(plan)).containsExactly(3);
        assertThat(plan.problems()).hasSize(1);
    }

    @Test
    void unknownMemoryBreaksNoRule() {
        assertThat(check(using(1, "1000mi"), in("a", 2).usesUnknown(0)).violations())
                .isEmpty();
    }

    @Test
    void zeroCapacityTerminatesOnlyProcessesWithKnownUsage() {
        var fleet = host().devices(1)
                .with(env("a").capacity("0").attached(0))
                .with(using(1, "0"), in("a", 2).usesUnknown(0), using(3, "1"))
                .fleet();
        assertThat(terminatedPids(enforce(fleet, KnownRules.ENV_MEMORY))).containsExactly(3);
    }

    @Test
    void memoryOfProcessTerminatedByAnotherRuleCountsAsFreed() {
        var fleet = gpu(using(1, "500mi"), using(2, "600mi").uses(1));
        var plan = enforce(fleet, KnownRules.ENV_DEVICES, KnownRules.ENV_MEMORY);
        assertThat(terminatedPids(plan)).containsExactly(2);
        assertThat(plan.actions().getFirst().rules()).containsExactly(KnownRules.ENV_DEVICES, KnownRules.ENV_MEMORY);
        assertThat(terminatedPids(enforce(fleet, KnownRules.ENV_MEMORY))).containsExactly(1);
    }

    @Test
    void selectsMoreWhenAnotherRuleFreesTooLittle() {
        var fleet = gpu(using(1, "700mi"), using(2, "600mi"), using(3, "100mi").uses(1));
        var plan = enforce(fleet, KnownRules.ENV_DEVICES, KnownRules.ENV_MEMORY);
        assertThat(terminatedPids(plan)).containsExactly(2, 3);
    }

    @Test
    void memoryRuleIsNoCauseForProcessThatFreesNothing() {
        var fleet = gpu(
                using(1, "1100mi"),
                using(2, "0").uses(1),
                in("a", 3).usesUnknown(0).uses(1));
        var plan = enforce(fleet, KnownRules.ENV_DEVICES, KnownRules.ENV_MEMORY);
        assertThat(plan.actions())
                .extracting(PlannedAction::rules)
                .containsExactly(
                        List.of(KnownRules.ENV_MEMORY),
                        List.of(KnownRules.ENV_DEVICES),
                        List.of(KnownRules.ENV_DEVICES));
    }

    @Test
    void memoryOfPendingProcessCountsAsFreed() {
        var fleet = gpu(using(1, "600mi"), using(2, "500mi"));
        var policy = enforcingPolicy(Limits.NONE, KnownRules.ENV_MEMORY);
        assertThat(terminatedPids(policy.check(fleet, Set.of()))).containsExactly(2);

        var plan = policy.check(fleet, Set.of(id("here", 1)));
        assertThat(plan.violations()).as("it is still broken").hasSize(1);
        assertThat(plan.actions()).isEmpty();
        assertThat(terminatedPids(policy.check(fleet, Set.of(id("elsewhere", 1)))))
                .containsExactly(2);
    }

    @Test
    void selectsMoreWhenPendingProcessesFreeTooLittle() {
        var fleet = gpu(using(1, "700mi"), using(2, "600mi"), using(3, "500mi"));
        var plan = enforcingPolicy(Limits.NONE, KnownRules.ENV_MEMORY).check(fleet, Set.of(id("here", 3)));
        assertThat(terminatedPids(plan)).containsExactly(2);
    }

    private static GpuProcessBuilder using(int pid, String memory) {
        return in("a", pid).uses(0, memory);
    }

    private static GpuProcessBuilder in(String eid, int pid) {
        return process(pid).inEnvironment(eid);
    }

    private static Fleet gpu(GpuProcessBuilder... processes) {
        return host().devices(2)
                .with(env("a").capacity("1000mi").attached(0))
                .with(processes)
                .fleet();
    }

    private static Plan check(GpuProcessBuilder... processes) {
        return enforce(gpu(processes), KnownRules.ENV_MEMORY);
    }
}

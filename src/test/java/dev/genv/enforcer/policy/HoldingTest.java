package dev.genv.enforcer.policy;

import static dev.genv.enforcer.policy.SurplusPlans.NEW;
import static dev.genv.enforcer.policy.SurplusPlans.OLD;
import static dev.genv.enforcer.policy.SurplusPlans.hostWithBusyNewerDevice;
import static dev.genv.enforcer.policy.SurplusPlans.planWithSurplus;
import static dev.genv.enforcer.policy.SurplusPlans.planWithSurplusOfOne;
import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.remote;
import static dev.genv.enforcer.testsupport.builder.Plans.detachments;
import static dev.genv.enforcer.testsupport.builder.Plans.enforcingPolicy;
import static dev.genv.enforcer.testsupport.builder.Plans.terminatedPids;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which of a user's devices is detached first. */
class HoldingTest {
    @Test
    void detachesIdleDeviceBeforeNewerBusyDevice() {
        var plan = planWithSurplusOfOne(hostWithBusyNewerDevice().fleet(), 2);
        assertThat(detachments(plan)).containsExactly("here/0 a");
        assertThat(terminatedPids(plan)).isEmpty();
    }

    @Test
    void deviceUsedByAnyEnvironmentOfTheUserIsBusy() {
        var fleet = host().devices(2)
                .with(env("a").attachedAt(OLD, 0), env("b").attachedAt(NEW, 1), env("c"))
                .with(process(1).inEnvironment("c").uses(1))
                .fleet();
        assertThat(detachments(planWithSurplusOfOne(fleet, 2))).containsExactly("here/0 a");
    }

    @Test
    void processOfAnotherUserDoesNotMakeDeviceBusy() {
        var fleet = host().devices(2)
                .with(env("a").attachedAt(OLD, 0), env("b").attachedAt(NEW, 1), env("p").user("paul"))
                .with(
                        process(1).inEnvironment("p").uses(1),
                        process(2).uses(1),
                        process(3).inEnvironment("gone").uses(1))
                .fleet();
        assertThat(detachments(planWithSurplusOfOne(fleet, 2))).containsExactly("here/1 b");
    }

    @Test
    void deviceOfAProcessWhoseEnvironmentIsUnknownIsNotIdle() {
        var fleet = host().devices(3)
                .with(env("a").attachedAt(OLD, 0), env("b").attachedAt(NEW, 1, 2))
                .with(
                        process(1).membershipUnknown().uid(1003).uses(1),
                        process(2).membershipUnknown().uidUnknown().uses(2))
                .fleet();
        assertThat(detachments(planWithSurplusOfOne(fleet, 3))).containsExactly("here/0 a");
    }

    /** A container's job often runs under another uid than its user's. */
    @Test
    void processOfAnyUidInTheEnvironmentMakesDeviceBusy() {
        for (var process :
                List.of(process(1).uid(1003), process(1).uid(0), process(1).uidUnknown())) {
            var plan = planWithSurplusOfOne(fleetWithNewerDeviceUsedBy(process), 2);
            assertThat(detachments(plan)).containsExactly("here/0 a");
            assertThat(terminatedPids(plan)).isEmpty();
        }
    }

    /** genv's SDK and Ray: the process names no environment, and the environment lists it. */
    @Test
    void processListedByTheEnvironmentMakesDeviceBusy() {
        var fleet = host().devices(2)
                .with(env("a").attachedAt(OLD, 0), env("b").attachedAt(NEW, 1).pids(1))
                .with(process(1).listed().uses(1))
                .fleet();
        assertThat(detachments(planWithSurplusOfOne(fleet, 2))).containsExactly("here/0 a");
    }

    @Test
    void detachesDeviceWithProcessOfOwnersUidAfterOtherBusyDevices() {
        var fleet = host().devices(2)
                .with(env("a").attachedAt(NEW, 0), env("b").attachedAt(OLD, 1))
                .with(
                        process(1).inEnvironment("a").uses(0),
                        process(2).inEnvironment("b").uid(1003).uses(1))
                .fleet();
        assertThat(detachments(planWithSurplusOfOne(fleet, 2))).containsExactly("here/1 b");
    }

    @Test
    void aProcessOfASubordinateUidIsOfTheUser() {
        var fleet = host().devices(2)
                .subordinate(1000, 165_536, 65_536)
                .with(env("a").attachedAt(NEW, 0), env("b").attachedAt(OLD, 1))
                .with(
                        process(1).inEnvironment("a").uid(165_600).uses(0),
                        process(2).inEnvironment("b").uid(1003).uses(1))
                .fleet();
        assertThat(detachments(planWithSurplusOfOne(fleet, 2))).containsExactly("here/1 b");
    }

    @Test
    void processTerminatedByAnEarlierRuleDoesNotMakeDeviceBusy() {
        var fleet = host().devices(3)
                .with(env("a").attachedAt(NEW, 0), env("b").attachedAt(OLD, 1))
                .with(
                        process(1).inEnvironment("b").uses(1, 2),
                        process(2).inEnvironment("a").uses(0))
                .fleet();
        var policy = enforcingPolicy(new Limits(1, Map.of()), KnownRules.ENV_DEVICES, KnownRules.MAX_DEVICES_PER_USER);
        assertThat(detachments(policy.check(fleet, Set.of()))).containsExactly("here/1 b");
    }

    @Test
    void detachesMostRecentlyAttachedDeviceFirst() {
        var fleet = host().devices(3)
                .with(env("a").attachedAt("02/01/2026 00:00:00", 0))
                .with(env("b").attachedAt("01/02/2026 00:00:00", 1))
                .with(env("c").attachedAt("31/01/2026 23:59:59", 2))
                .fleet();
        assertThat(detachments(planWithSurplusOfOne(fleet, 3))).containsExactly("here/1 b");
    }

    @ParameterizedTest
    @NullSource
    @ValueSource(strings = {"", "yesterday", "31/02/2026 00:00:00", "2027-01-01 00:00:00"})
    void unreadableAttachTimeCountsAsOldest(@Nullable String time) {
        var fleet = host().devices(2)
                .with(env("a").attachedAt(OLD, 0), env("b").attachedAt(time, 1))
                .fleet();
        assertThat(detachments(planWithSurplusOfOne(fleet, 2))).containsExactly("here/0 a");
    }

    @Test
    void sharedDeviceCountsByItsLatestAttachment() {
        var fleet = host().devices(2)
                .with(env("a").attachedAt(OLD, 1), env("b").attachedAt(NEW, 1))
                .with(env("c").attachedAt("01/06/2026 00:00:00", 0))
                .fleet();
        assertThat(detachments(planWithSurplusOfOne(fleet, 2))).containsExactly("here/1 a", "here/1 b");
    }

    @Test
    void attachmentOfAnotherUserDoesNotMakeDeviceMoreRecent() {
        var fleet = host().devices(2)
                .with(env("a").attachedAt(OLD, 1), env("p").user("paul").attachedAt(NEW, 1))
                .with(env("c").attachedAt("01/06/2026 00:00:00", 0))
                .fleet();
        assertThat(detachments(planWithSurplusOfOne(fleet, 2))).containsExactly("here/0 c");
    }

    @Test
    void tiesAreBrokenByFirstHostThenHighestIndex() {
        var hosts = remote(
                host("gpu-2").devices(4).with(env("a").attached(3)),
                host("gpu-1").devices(4).with(env("a").attached(1, 2)));
        assertThat(detachments(planWithSurplusOfOne(hosts, 3))).containsExactly("gpu-1/2 a");
        assertThat(detachments(planWithSurplus(2, hosts, 3))).containsExactly("gpu-1/1 a", "gpu-1/2 a");
    }

    @Test
    void idlenessOutranksAttachTimeAndAttachTimeOutranksHost() {
        var hosts = remote(
                host("gpu-1").devices(1).with(env("a").attachedAt(OLD, 0)),
                host("gpu-2").devices(1).with(env("b").attachedAt(NEW, 0)),
                host("gpu-3")
                        .devices(1)
                        .with(env("c").attachedAt(NEW, 0))
                        .with(process(1).inEnvironment("c").uses(0)));
        assertThat(detachments(planWithSurplusOfOne(hosts, 3))).containsExactly("gpu-2/0 b");
        assertThat(detachments(planWithSurplus(2, hosts, 3))).containsExactly("gpu-1/0 a", "gpu-2/0 b");
    }

    private static Fleet fleetWithNewerDeviceUsedBy(GpuProcessBuilder process) {
        return host().devices(2)
                .with(env("a").attachedAt(OLD, 0), env("b").attachedAt(NEW, 1))
                .with(process.inEnvironment("b").uses(1))
                .fleet();
    }
}

package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.HostBuilder.host;
import static dev.genv.enforcer.testsupport.HostBuilder.remote;
import static dev.genv.enforcer.testsupport.Plans.detachments;
import static dev.genv.enforcer.testsupport.Plans.enforcingPolicy;
import static dev.genv.enforcer.testsupport.Plans.terminatedPids;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Appearances;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.plan.Plan;
import dev.genv.enforcer.policy.plan.RuleName;
import dev.genv.enforcer.testsupport.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.HostBuilder;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which of a user's devices is given up first: the limit is always one less than he holds. */
class HoldingTest {
    private static final String OLD = "01/01/2026 00:00:00";
    private static final String NEW = "31/12/2026 00:00:00";
    private static final Appearances NO_HISTORY = new Appearances(Map.of(), false);

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

    /** Somebody wrote it in the user's name a moment ago, with any date, and runs a process in it. */
    @Test
    void detachesNewDeviceFirst() {
        var forged = env("forged").attachedAt(OLD, 1);
        for (var own : List.of(
                process(1).inEnvironment("a"), process(1).inEnvironment("a").uid(1003))) {
            var fleet = host().devices(2)
                    .with(env("a").attachedAt(NEW, 0), forged)
                    .with(
                            own.uses(0),
                            process(2).inEnvironment("forged").uid(1003).uses(1))
                    .fleet();
            assertThat(detachments(planWithSurplusOfOne(withAppearance(fleet, "forged", 1, true), 2)))
                    .containsExactly("here/1 forged");
        }
        var idle = host().devices(2).with(env("a").attachedAt(NEW, 0), forged).fleet();
        assertThat(detachments(planWithSurplusOfOne(withAppearance(idle, "forged", 1, true), 2)))
                .containsExactly("here/1 forged");
    }

    @Test
    void detachesIdleDeviceBeforeNewDeviceWithProcessOfOwnersUid() {
        var fleet = withAppearance(hostWithBusyNewerDevice().fleet(), "b", 1, true);
        assertThat(detachments(planWithSurplusOfOne(fleet, 2))).containsExactly("here/0 a");
    }

    @Test
    void appearanceThatIsNotRecentDoesNotMakeDeviceNew() {
        var fleet = host().devices(2)
                .with(env("a").attachedAt(OLD, 0), env("b").attachedAt(NEW, 1))
                .with(process(1).inEnvironment("b").uid(1003).uses(1))
                .fleet();
        assertThat(detachments(planWithSurplusOfOne(withAppearance(fleet, "b", 1, false), 2)))
                .containsExactly("here/0 a");
    }

    /** What the file says of the time is anybody's; what the service saw is not. */
    @Test
    void observedAppearanceOutranksRecordedAttachTime() {
        var fleet = host().devices(2)
                .with(env("a").attachedAt(NEW, 0), env("b").attachedAt(OLD, 1))
                .fleet();
        assertThat(detachments(planWithSurplusOfOne(withAppearance(fleet, "b", 1, false), 2)))
                .containsExactly("here/1 b");
    }

    @Test
    void deviceAlreadyHeldThroughAnotherEnvironmentIsNotNew() {
        var fleet = host().devices(2)
                .with(env("a").attachedAt(OLD, 0), env("b").attachedAt(OLD, 0), env("c").attachedAt(NEW, 1))
                .fleet();
        assertThat(detachments(planWithSurplusOfOne(withAppearance(fleet, "b", 0, true), 2)))
                .containsExactly("here/1 c");
    }

    @Test
    void processTerminatedByAnEarlierRuleDoesNotMakeDeviceBusy() {
        var fleet = host().devices(3)
                .with(env("a").attachedAt(NEW, 0), env("b").attachedAt(OLD, 1))
                .with(
                        process(1).inEnvironment("b").uses(1, 2),
                        process(2).inEnvironment("a").uses(0))
                .fleet();
        var policy =
                enforcingPolicy(new DeviceLimits(1, Map.of()), RuleName.ENV_DEVICES, RuleName.MAX_DEVICES_PER_USER);
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

    /** One of them may be forged, in a fleet whose history is not known: the user may not be above the quota at all. */
    @Test
    void recordedTimesChooseNoneOfTheBusyOnes() {
        var fleet = bothBusy(process(1).uid(1007), process(2).uid(1008)).with(NO_HISTORY);
        var plan = planWithSurplusOfOne(fleet, 2);

        assertThat(plan.actions()).isEmpty();
        assertThat(plan.violations()).hasSize(1);
        assertThat(plan.problems())
                .singleElement()
                .satisfies(
                        problem -> assertThat(problem.problem())
                                .isEqualTo(
                                        new Problem(
                                                ProblemCode.QUOTA_UNDECIDED,
                                                "User raz holds 1 device(s) too many, and only the times in devices.json show which ones came last: the user must detach them")));
    }

    @Test
    void recordedTimesChooseWhereThatIsWanted() {
        var fleet = bothBusy(process(1).uid(1007), process(2).uid(1008));
        assertThat(detachments(planWithSurplusOfOne(fleet, 2))).containsExactly("here/1 b");
    }

    /** Only the user can start a process of this uid, so another user can only have forged the other one. */
    @Test
    void anUnprovenOneGoesBeforeAProvenOne() {
        var fleet = bothBusy(process(1).uid(1000), process(2).uid(1008)).with(NO_HISTORY);
        assertThat(detachments(planWithSurplusOfOne(fleet, 2))).containsExactly("here/1 b");
    }

    @Test
    void allUnprovenOnesGoWhereNoneNeedsToBeChosen() {
        var fleet = bothBusy(process(1).uid(1007), process(2).uid(1008)).with(NO_HISTORY);
        var plan = planWithSurplus(2, fleet, 2);
        assertThat(detachments(plan)).containsExactly("here/0 a", "here/1 b");
        assertThat(plan.problems()).isEmpty();
    }

    @Test
    void oneThatAppearedLaterGoesBeforeThoseOfUnknownAge() {
        var fleet = bothBusy(process(1).uid(1007), process(2).uid(1008));
        assertThat(detachments(planWithSurplusOfOne(withAppearance(fleet, "a", 0, false), 2)))
                .containsExactly("here/0 a");
    }

    private static Fleet bothBusy(GpuProcessBuilder inA, GpuProcessBuilder inB) {
        return host().devices(2)
                .with(env("a").attachedAt(OLD, 0), env("b").attachedAt(NEW, 1))
                .with(inA.inEnvironment("a").uses(0), inB.inEnvironment("b").uses(1))
                .fleet();
    }

    private static Fleet withAppearance(Fleet fleet, String eid, int device, boolean recent) {
        return fleet.with(new Appearances(
                Map.of(new Appearances.Key("here", eid, device), new Appearances.Appearance(1, recent)), false));
    }

    private static HostBuilder hostWithBusyNewerDevice() {
        return host().devices(2)
                .with(env("a").attachedAt(OLD, 0), env("b").attachedAt(NEW, 1))
                .with(process(1).inEnvironment("b").uses(1));
    }

    private static Fleet fleetWithNewerDeviceUsedBy(GpuProcessBuilder process) {
        return host().devices(2)
                .with(env("a").attachedAt(OLD, 0), env("b").attachedAt(NEW, 1))
                .with(process.inEnvironment("b").uses(1))
                .fleet();
    }

    private static Plan planWithSurplusOfOne(Fleet fleet, int held) {
        return planWithSurplus(1, fleet, held);
    }

    private static Plan planWithSurplus(int surplus, Fleet fleet, int held) {
        var limits = new DeviceLimits(null, Map.of("raz", held - surplus));
        return enforcingPolicy(limits, RuleName.MAX_DEVICES_PER_USER).check(fleet, Set.of());
    }
}

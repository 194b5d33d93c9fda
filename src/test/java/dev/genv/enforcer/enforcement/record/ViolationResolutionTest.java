package dev.genv.enforcer.enforcement.record;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.id;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.remote;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.testsupport.KnownRules;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A violation is resolved only if it would have been found. */
class ViolationResolutionTest extends RegistryFixture {
    @Test
    void violationIsResolvedOnlyOnObservedHosts() {
        observeViolations(strayOn("gpu-1", 1), strayOn("gpu-2", 1));

        var update = record(
                registry,
                Plan.EMPTY,
                cycleOutcome(List.of()),
                _ -> RuleMode.ENFORCE,
                remote(unobserved("gpu-1"), host("gpu-2")));

        assertThat(update.resolved())
                .singleElement()
                .satisfies(entry -> assertThat(entry.violation().host()).isEqualTo("gpu-2"));
    }

    @Test
    void quotaIsResolvedOnlyWhenAllHostsItCountedAreObserved() {
        observeViolations(quota("gpu-1", "gpu-2"));
        observeFleet(remote(host("gpu-1"), unobserved("gpu-2"), host("gpu-3")));
        assertThat(all().getFirst().active()).isTrue();

        observeFleet(remote(host("gpu-1"), host("gpu-2"), unobserved("gpu-3")));
        assertThat(all().getFirst().active())
                .as("a host that is gone for good must not keep what happens on the others")
                .isFalse();
    }

    /** The user may hold as many devices as before on the host that is not observed. */
    @Test
    void brokenQuotaStillDependsOnItsUnobservedHost() {
        observeViolations(quota("gpu-1", "gpu-2", "gpu-3"));
        record(
                registry,
                new Plan(List.of(quota("gpu-2", "gpu-3")), List.of(), List.of()),
                cycleOutcome(List.of()),
                _ -> RuleMode.ENFORCE,
                remote(unobserved("gpu-1"), host("gpu-2"), host("gpu-3")));
        observeFleet(remote(unobserved("gpu-1"), host("gpu-2"), host("gpu-3")));
        assertThat(registry.active()).hasSize(1);
        observeFleet(remote(host("gpu-1"), host("gpu-2"), host("gpu-3")));
        assertThat(registry.active()).isEmpty();
    }

    @Test
    void movedQuotaStillDependsOnItsUnobservedFormerHost() {
        observeViolations(quota("gpu-1"));
        record(
                registry,
                new Plan(List.of(quota("gpu-2")), List.of(), List.of()),
                cycleOutcome(List.of()),
                _ -> RuleMode.ENFORCE,
                remote(unobserved("gpu-1"), host("gpu-2")));
        observeFleet(remote(unobserved("gpu-1"), host("gpu-2")));
        assertThat(registry.active()).hasSize(1);
    }

    /** A user can start so many processes that the search does not reach the holder. */
    @Test
    void violationOfAnUnlistedProcessIsResolvedOnlyByACompleteSearch() {
        observeViolations(broken(KnownRules.UNLISTED_PROCESSES), strayOn("gpu-1", 1));
        observeFleet(remote(host("gpu-1").withUnexaminedProcesses()));
        assertThat(registry.active())
                .singleElement()
                .satisfies(key -> assertThat(key.rule()).isEqualTo(KnownRules.UNLISTED_PROCESSES));
        observeFleet(remote(host("gpu-1")));
        assertThat(registry.active()).isEmpty();
    }

    @Test
    void violationOnRemovedHostIsResolved() {
        observeViolations(strayOn("gpu-1", 1), quota("gpu-1", "gpu-2"));
        observeFleet(remote(unobserved("gpu-2")));
        assertThat(registry.active())
                .as("gpu-2 is still in it")
                .containsExactly(quota("gpu-1").key());
        observeFleet(remote(host("gpu-3")));
        assertThat(registry.active()).isEmpty();
    }

    /** A file that stays invalid must not keep the violations of another file in memory. */
    @ParameterizedTest
    @MethodSource("dev.genv.enforcer.policy.Rules#definitions")
    void violationIsResolvedOnlyWithAllPartsItsRuleRequires(RuleDefinition rule) {
        var job = process(1).inEnvironment("a").uses(0).build();
        var expected = EnumSet.of(SnapshotPart.PROCESSES, SnapshotPart.EVERY_PROCESS, SnapshotPart.ENVIRONMENTS);
        expected.addAll(rule.requiredParts());
        assertThat(requiredParts(broken(rule, job))).isEqualTo(expected);
    }

    @Test
    void disputeIsResolvedOnceEnvironmentsAreObserved() {
        assertThat(requiredParts(broken(KnownRules.ENV_OWNER))).containsExactly(SnapshotPart.ENVIRONMENTS);
    }

    @Test
    void disputesAreResolvedWhileAttachmentsAreUnreadable() {
        for (var cycle = 0; cycle < 50; cycle++) {
            var dispute = new Violation(
                    KnownRules.ENV_OWNER, "gpu-1", "environment " + cycle, "…", null, "e", List.of(), List.of());
            record(
                    registry,
                    new Plan(List.of(dispute), List.of(), List.of()),
                    cycleOutcome(List.of()),
                    _ -> RuleMode.AUDIT,
                    host("gpu-1").missing(SnapshotPart.ATTACHMENTS).fleet());
        }
        assertThat(registry.active()).hasSize(1);
    }

    /** On a machine that is short of time: the same trouble must not come back as another one. */
    @Test
    void violationIsNotResolvedWhileMembershipIsUnknown() {
        observeViolations(strayOn("gpu-1", 1));

        assertThat(observeFleet(remote(host("gpu-1")
                                .with(process(1).membershipUnknown().uses(0))))
                        .resolved())
                .isEmpty();
        assertThat(observeFleet(remote(host("gpu-1")
                                .with(process(2).membershipUnknown().uses(0))))
                        .resolved())
                .hasSize(1);
    }

    /** Otherwise a user who can write the pid into the state could restart the violation. */
    @Test
    void violationIsNotResolvedWhileListedProcessIsUnreadable() {
        observeViolations(strayOn("gpu-1", 1));

        var update = observeFleet(remote(host("gpu-1")
                .with(env("a").pids(1))
                .with(process(1).membershipUnknown().uses(0))));

        assertThat(update.resolved()).isEmpty();
    }

    /** The attachments are known independently of the processes. */
    @Test
    void quotaIsResolvedDespiteUnknownMembership() {
        observeViolations(
                broken(KnownRules.MAX_DEVICES_PER_USER, process(1).uses(0).build()));

        assertThat(observeFleet(remote(host("gpu-1")
                                .with(process(1).membershipUnknown().uses(0))))
                        .resolved())
                .hasSize(1);
    }

    /** The pid may have come to be used for another one, or the process been taken into an environment. */
    @Test
    void violationIsResolvedWhenPidIsReusedListedOrInAnEnvironment() {
        observeViolations(strayOn("gpu-1", 1), strayOn("gpu-1", 2), strayOn("gpu-1", 3));

        var update = observeFleet(remote(host("gpu-1")
                .with(env("a").pids(2))
                .with(
                        process(1).startedLaterBy(1).membershipUnknown().uses(0),
                        process(2).listed().uses(0),
                        process(3).inEnvironment("a").uses(0))));

        assertThat(update.resolved()).hasSize(3);
    }

    private Set<SnapshotPart> requiredParts(Violation violation) {
        var needed = EnumSet.noneOf(SnapshotPart.class);
        for (var part : SnapshotPart.values()) {
            observeViolations(violation);
            if (observeFleet(host("gpu-1").missing(part).fleet()).resolved().isEmpty()) {
                needed.add(part);
            }
        }
        return needed;
    }

    /** A host whose listing is never complete would otherwise keep a violation of every process that a user starts. */
    @ParameterizedTest
    @ValueSource(strings = {"non-env-processes", "inactive-env-processes", "env-devices", "env-memory", "env-owner"})
    void isOverOnceAllItsProcessesHaveEndedAlsoWhereTheListingIsIncomplete(String rule) {
        observeViolations(broken(
                KnownRules.named(rule),
                process(1).uses(0).build(),
                process(2).uses(0).build()));
        assertThat(registry.processesToVerify()).as("the last cycle found it").isEmpty();
        observeIncompleteListing();
        assertThat(registry.processesToVerify()).containsExactlyInAnyOrder(id("gpu-1", 1), id("gpu-1", 2));

        assertThat(observeIncompleteListing(id("gpu-1", 1)).resolved()).isEmpty();
        assertThat(observeIncompleteListing(id("gpu-1", 2), id("a", 1)).resolved())
                .as("the same pid on another host")
                .isEmpty();
        assertThat(observeIncompleteListing(id("gpu-1", 1), id("gpu-1", 2)).resolved())
                .hasSize(1);
        assertThat(registry.processesToVerify()).isEmpty();
    }

    /** It is about attachments, which outlive the processes. */
    @Test
    void aQuotaIsNotOverBecauseItsProcessesHaveEnded() {
        observeViolations(
                broken(KnownRules.MAX_DEVICES_PER_USER, process(1).uses(0).build()));
        observeIncompleteListing();
        assertThat(registry.processesToVerify()).isEmpty();
        assertThat(observeIncompleteListing(id("gpu-1", 1)).resolved()).isEmpty();
    }

    @Test
    void aDisputeWithoutProcessesIsNotOverBecauseNoneRuns() {
        observeViolations(broken(KnownRules.ENV_OWNER));
        assertThat(observeFleet(remote(unobserved("gpu-1"))).resolved()).isEmpty();
    }

    @Test
    void aViolationThatIsFoundIsNotOverAlthoughItsProcessHasEnded() {
        observeViolations(strayOn("gpu-1", 1));
        var update = record(
                registry,
                new Plan(List.of(strayOn("gpu-1", 1)), List.of(), List.of()),
                new ViolationRegistry.CycleOutcome(List.of(), Set.of(id("gpu-1", 1)), now, Map.of()),
                _ -> RuleMode.ENFORCE,
                host("gpu-1").fleet());
        assertThat(update.resolved()).isEmpty();
    }

    /** A shell reads the files of each process: all are verified in turn. */
    @Test
    void verifiesALimitedNumberOfProcessesOfAHostInACycle() {
        var many = AbsentViolations.MAX_VERIFIED + AbsentViolations.MAX_VERIFIED / 2;
        observeViolations(IntStream.rangeClosed(1, many)
                .mapToObj(pid -> strayOn(pid % 2 == 0 ? "a" : "b", pid))
                .toArray(Violation[]::new));
        observeViolations(IntStream.rangeClosed(1, 2 * many)
                .mapToObj(pid -> strayOn("gpu-1", pid))
                .toArray(Violation[]::new));
        observeFleet(remote(unobserved("gpu-1"), host("a"), host("b")));

        var verified = new HashSet<HostProcess>();
        for (var cycle = 0; cycle < 3; cycle++) {
            var now = registry.processesToVerify();
            assertThat(now).hasSize(AbsentViolations.MAX_VERIFIED);
            verified.addAll(now);
        }
        assertThat(verified).hasSize(2 * many);
    }

    private ViolationRegistry.Update observeIncompleteListing(HostProcess... ended) {
        return record(
                registry,
                Plan.EMPTY,
                new ViolationRegistry.CycleOutcome(List.of(), Set.of(ended), now, Map.of()),
                _ -> RuleMode.ENFORCE,
                host("gpu-1").missing(SnapshotPart.EVERY_PROCESS).fleet());
    }
}

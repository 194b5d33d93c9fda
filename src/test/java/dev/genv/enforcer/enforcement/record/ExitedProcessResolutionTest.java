package dev.genv.enforcer.enforcement.record;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.id;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.remote;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.testsupport.KnownRules;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A violation is resolved by the exit of its processes, also where the host is never observed completely. */
class ExitedProcessResolutionTest extends RegistryFixture {
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

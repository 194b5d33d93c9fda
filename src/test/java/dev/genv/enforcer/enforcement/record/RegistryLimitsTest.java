package dev.genv.enforcer.enforcement.record;

import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.remote;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.testsupport.KnownRules;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The memory of the registry is bounded. */
class RegistryLimitsTest extends RegistryFixture {
    /** The host never tells whether they have ended. */
    @Test
    void keepsALimitedAmountOfViolationsThatAreNotFoundAnyMore() {
        var all = withLongTexts(60, remote(unobserved("gpu-1")));
        var texts = all.find(ViolationRecord::active, 10_000).stream()
                .mapToLong(entry -> entry.violation().message().length())
                .sum();
        assertThat(texts).isBetween(1L << 20, 4L << 20);
        assertThat(all.find(
                        entry -> entry.active() && entry.violation().message().startsWith("59-"), 10_000))
                .as("what the last cycle found is kept")
                .hasSize(100);
        assertThat(all.find(entry -> !entry.active(), 10_000)).as("resolved").isNotEmpty();
    }

    /** The registry after cycles that find a hundred violations each, others every time and with the longest texts of a state file. */
    private ViolationRegistry withLongTexts(int cycles, Fleet fleet) {
        var all = new ViolationRegistry(10_000);
        for (var cycle = 0; cycle < cycles; cycle++) {
            var number = cycle;
            var violations = IntStream.range(0, 100)
                    .mapToObj(i -> withTexts("%d-%d".formatted(number, i) + "x".repeat(4_000)))
                    .toList();
            record(
                    all,
                    new Plan(violations, List.of(), List.of()),
                    cycleOutcome(List.of()),
                    _ -> RuleMode.AUDIT,
                    fleet);
        }
        return all;
    }

    @Test
    void keepsAllActiveAndTheLatestResolvedEntries() {
        for (var pid = 1; pid <= 5; pid++) {
            observeViolations(strayOn("gpu-1", pid));
            now = now.plusSeconds(1);
        }
        observeViolations();
        assertThat(all()).extracting(ViolationRegistryTest::pid).containsExactly(5, 4, 3);

        observeViolations(strayOn("a", 1), strayOn("b", 1), strayOn("c", 1), strayOn("d", 1), strayOn("e", 1));
        assertThat(registry.find(ViolationRecord::active, 100)).hasSize(5);
    }

    @Test
    void keepsFewerResolvedViolationsTheLongerTheirTextsAre() {
        var all = withLongTexts(40, remote(host("gpu-1")));
        var texts = all.find(entry -> !entry.active(), 10_000).stream()
                .mapToLong(entry -> entry.violation().message().length())
                .sum();
        assertThat(texts).isBetween(1L << 20, 4L << 20);
        assertThat(all.find(ViolationRecord::active, 10_000)).hasSize(100);
        assertThat(all.find(entry -> entry.violation().message().startsWith("38-"), 10_000))
                .as("the oldest are dropped first")
                .hasSize(100);
    }

    @Test
    void keepsTenThousandResolvedViolationsWithOrdinaryTexts() {
        var all = new ViolationRegistry(10_000);
        var violations = IntStream.range(0, 10_000)
                .mapToObj(pid -> strayOn("gpu-1", pid))
                .toList();
        record(
                all,
                new Plan(violations, List.of(), List.of()),
                cycleOutcome(List.of()),
                _ -> RuleMode.AUDIT,
                remote(host("gpu-1")));
        record(all, Plan.EMPTY, cycleOutcome(List.of()), _ -> RuleMode.AUDIT, remote(host("gpu-1")));
        assertThat(all.find(entry -> !entry.active(), 20_000)).hasSize(10_000);
    }

    private static Violation withTexts(String text) {
        return new Violation(KnownRules.ENV_OWNER, "gpu-1", text, text, text, text, List.of(), List.of());
    }
}

package dev.genv.enforcer.enforcement.record;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.id;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.remote;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.testsupport.KnownRules;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Which entries the registry has, in which order it finds them, how many it keeps, and the actions that it records with them. */
class ViolationRegistryTest extends RegistryFixture {
    @Test
    void continuingViolationKeepsItsEntry() {
        observeViolations(strayOn("gpu-1", 1));
        var id = all().getFirst().id();
        now = now.plusSeconds(10);
        var update = observeViolations(strayOn("gpu-1", 1));

        assertThat(update.appeared()).isEmpty();
        assertThat(all()).singleElement().satisfies(entry -> {
            assertThat(entry.id()).isEqualTo(id);
            assertThat(entry.cycles()).isEqualTo(2);
            assertThat(entry.firstSeen()).isEqualTo(START);
            assertThat(entry.lastSeen()).isEqualTo(now);
        });
        assertThat(registry.find(id)).isPresent();
        assertThat(registry.find("another")).isEmpty();
    }

    @Test
    void clockSetBackKeepsTheOrderAndHidesNoViolation() {
        observeViolations(strayOn("gpu-1", 1), strayOn("gpu-1", 2));
        now = START.minusSeconds(3600);
        observeViolations(strayOn("gpu-1", 1), strayOn("gpu-1", 3));

        assertThat(all())
                .extracting(entry -> entry.violation().processes().getFirst().pid())
                .as("newest first")
                .first()
                .isEqualTo(3);
        assertThat(all()).allSatisfy(entry -> {
            assertThat(entry.lastSeen()).isAfterOrEqualTo(entry.firstSeen());
            assertThat(entry.recency().latest())
                    .as("what is asked for since then is found")
                    .isEqualTo(START);
        });
    }

    @Test
    void usesTheClockAgainAfterItWasFarAhead() {
        now = START.plusSeconds(31_536_000);
        observeViolations(strayOn("gpu-1", 1));
        now = START;
        observeViolations(strayOn("gpu-1", 2));

        assertThat(all().getFirst().firstSeen()).isEqualTo(START);
        assertThat(all().getFirst().lastSeen()).isEqualTo(START);
    }

    @Test
    void violationThatReturnsGetsANewEntry() {
        observeViolations(strayOn("gpu-1", 1));
        observeViolations();
        observeViolations(strayOn("gpu-1", 1));

        assertThat(all()).extracting(ViolationRecord::active).containsExactlyInAnyOrder(true, false);
        assertThat(all()).extracting(ViolationRecord::id).doesNotHaveDuplicates();
    }

    @Test
    void findReturnsNewestFirstUpToTheLimit() {
        observeViolations(strayOn("gpu-1", 1));
        now = now.plusSeconds(1);
        observeViolations(strayOn("gpu-1", 1), strayOn("gpu-1", 2));

        assertThat(all()).extracting(ViolationRegistryTest::pid).containsExactly(2, 1);
        assertThat(registry.find(entry -> true, 1))
                .extracting(ViolationRegistryTest::pid)
                .containsExactly(2);
    }

    @Test
    void quotaThatMovesToAnotherHostKeepsItsEntry() {
        for (var host : List.of("gpu-1", "gpu-2")) {
            observeViolations(quota(host));
        }
        assertThat(all()).hasSize(1);
    }

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

    @Test
    void actionOfTwoRulesIsRecordedWithBoth() {
        var stray = strayOn("gpu-1", 1);
        var memory = new Violation(
                KnownRules.ENV_MEMORY, "gpu-1", "environment a", "…", "raz", "a", List.of(0), stray.processes());
        var record = record(stray.processes().getFirst().pid(), Outcome.SIGNALLED, stray, memory);

        record(
                registry,
                new Plan(List.of(stray, memory), List.of(), List.of()),
                cycleOutcome(List.of(record)),
                rule -> rule.equals(KnownRules.ENV_MEMORY) ? RuleMode.AUDIT : RuleMode.ENFORCE,
                host("gpu-1").fleet());

        assertThat(outcome(KnownRules.NON_ENV_PROCESSES)).isEqualTo(Outcome.SIGNALLED);
        assertThat(outcome(KnownRules.ENV_MEMORY))
                .as("this rule alone would not have ended it")
                .isEqualTo(Outcome.SKIPPED_AUDIT);
    }

    @Test
    void recordsRepeatedOutcomeOnceAndEachChange() {
        var stray = strayOn("gpu-1", 1);
        for (var outcome : List.of(Outcome.DENIED, Outcome.DENIED, Outcome.FAILED, Outcome.DENIED)) {
            now = now.plusSeconds(1);
            update(List.of(record(1, outcome, stray)), stray);
        }
        assertThat(all().getFirst().actions())
                .extracting(ViolationRecord.ActionNote::outcome)
                .containsExactly(Outcome.DENIED, Outcome.FAILED, Outcome.DENIED);
    }

    /** An environment that attaches the same device repeatedly is detached each time. */
    @Test
    void recordsEachRepeatedSignal() {
        var stray = strayOn("gpu-1", 1);
        for (var i = 0; i < 3; i++) {
            now = now.plusSeconds(1);
            assertThat(update(List.of(record(1, Outcome.SIGNALLED, stray)), stray)
                            .actions())
                    .hasSize(1);
        }
        assertThat(all().getFirst().actions()).hasSize(3);
    }

    @Test
    void keepsAtMostTheMaximumOfActions() {
        var stray = strayOn("gpu-1", 1);
        for (var i = 0; i < 3 * ViolationRegistry.MAX_ACTIONS; i++) {
            update(List.of(record(1, i % 2 == 0 ? Outcome.DENIED : Outcome.FAILED, stray)), stray);
        }
        assertThat(all().getFirst().actions()).hasSize(ViolationRegistry.MAX_ACTIONS);
    }

    private Outcome outcome(RuleDefinition rule) {
        return registry.find(entry -> entry.violation().rule().equals(rule), 1)
                .getFirst()
                .actions()
                .getFirst()
                .outcome();
    }

    private ActionRecord record(int pid, Outcome outcome, Violation... causes) {
        var action = new Action.Terminate("gpu-1", process(pid).uses(0).build());
        return new ActionRecord(new PlannedAction(action, List.of(causes), true), Result.of(outcome), now);
    }
}

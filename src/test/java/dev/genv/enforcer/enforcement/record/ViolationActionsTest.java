package dev.genv.enforcer.enforcement.record;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.testsupport.KnownRules;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The actions that are recorded with a violation. */
class ViolationActionsTest extends RegistryFixture {
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

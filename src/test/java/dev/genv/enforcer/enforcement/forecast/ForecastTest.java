package dev.genv.enforcer.enforcement.forecast;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.action.SafetyLimits;
import dev.genv.enforcer.enforcement.action.ServiceMode;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.Immunity;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.definition.Limits;
import dev.genv.enforcer.policy.definition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Each test compares what the record of a violation announces with what the cycles then do. */
class ForecastTest extends ForecastFixture {
    @Test
    void announcesSigtermForTheEndOfTheGracePeriod() {
        safety = new SafetyLimits(Duration.ofSeconds(25), NONE, null, 0);

        runCycle(0);
        assertThat(next()).containsExactly("terminate 1 TERM 25 grace_period");
        runCycle(10);
        assertThat(next()).containsExactly("terminate 1 TERM 25 grace_period");
        runCycle(24);
        assertThat(node.executed).isEmpty();
        runCycle(25);
        assertThat(node.executed).hasSize(1);
        assertThat(next()).as("SIGKILL is disabled").isEmpty();
    }

    @Test
    void announcesSigkillForTheTimeAfterSigterm() {
        runCycle(0);
        assertThat(next()).containsExactly("terminate 1 KILL 30 kill_after");
        runCycle(10);
        assertThat(next()).containsExactly("terminate 1 KILL 30 kill_after");
        runCycle(29);
        assertThat(node.executed).hasSize(1);
        runCycle(30);
        assertThat(node.executed).hasSize(2);
        assertThat(next()).isEmpty();
    }

    @Test
    void announcesNoSigkillThatASafeguardHoldsBack() {
        runCycle(0);
        node.readOnly("another enforcer acts here");
        runCycle(10);

        assertThat(next()).isEmpty();
    }

    /** It gets SIGKILL although others may have added it to their environment, because a process without an active one gets it too. */
    @Test
    void announcesSigkillForAProcessOlderThanItsEnvironment() {
        node.setSnapshot(host().devices(1));
        runCycle(0);
        node.setSnapshot(host().devices(1)
                .with(env("a"))
                .with(process(1).inEnvironment("a").uses(0)));
        runCycle(10);

        assertSigkillComesAsAnnounced();
    }

    private void assertSigkillComesAsAnnounced() {
        assertThat(next()).containsExactly("terminate 1 KILL 40 kill_after");
        runCycle(39);
        assertThat(node.executed).hasSize(1);
        runCycle(40);
        assertThat(node.executed).hasSize(2);
    }

    @Test
    void announcesNoSigkillForAProcessWhoseUserBecameExempt() {
        runCycle(0);
        node.setSnapshot(host().devices(1).with(process(1).uses(0).immune(Immunity.Kind.EXEMPT, "its user is exempt")));
        runCycle(10);

        assertThat(next()).isEmpty();
    }

    @Test
    void timeWithoutAViolationPostponesSigkill() {
        runCycle(0);
        runCycle(10);
        node.setSnapshot(host().devices(1));
        runCycle(15);
        node.setSnapshot(stray(1));
        runCycle(25);

        assertSigkillComesAsAnnounced();
    }

    @Test
    void theStateChangeGraceThatEndsLastDecides() {
        safety = new SafetyLimits(Duration.ofSeconds(20), Duration.ofSeconds(60), null, 0);
        var inA = process(1).inEnvironment("a").uses(0);
        node.observedBefore(1, () -> runCycle(0));
        node.setSnapshot(host().devices(1).with(env("a").attached(0)).with(inA));
        runCycle(100);
        node.setSnapshot(host().devices(1).with(env("a")).with(inA));
        runCycle(110);

        assertThat(next()).containsExactly("terminate 1 TERM 170 state_change_grace");
        runCycle(169);
        assertThat(node.executed).isEmpty();
        runCycle(170);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void theRuleWhoseGraceEndsFirstDecides() {
        safety = new SafetyLimits(Duration.ofSeconds(30), NONE, null, 0);
        var full = host().devices(2).with(env("a").capacity("1000mi").attached(0));
        node.setSnapshot(full.with(process(1).inEnvironment("a").uses(0, "2000mi")));
        runCycle(0);
        node.setSnapshot(
                full.with(process(1).inEnvironment("a").uses(0, "2000mi").uses(1)));
        runCycle(20);

        assertThat(next()).containsOnly("terminate 1 TERM 30 grace_period");
        runCycle(30);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void whatTheTerminationLimitHoldsBackIsDueInTheNextCycle() {
        safety = new SafetyLimits(NONE, NONE, null, 1);
        node.setSnapshot(host().devices(1).with(process(1).uses(0), process(2).uses(0)));

        runCycle(5);
        assertThat(next()).containsExactly("terminate 2 TERM 5 termination_limit");
        runCycle(15);
        assertThat(node.executed).hasSize(2);
        assertThat(next()).isEmpty();
    }

    @Test
    void announcesAnotherAttemptAfterAFailure() {
        node.answerWith(_ -> Result.of(Outcome.DENIED));
        runCycle(5);

        assertThat(next()).containsExactly("terminate 1 TERM 5 next_cycle");
    }

    @Test
    void announcesAnotherSigtermIfItIsUnknownWhetherTheFirstOneWasSent() {
        node.answerWith(_ -> Result.lost("the connection broke"));
        runCycle(0);

        assertThat(next()).containsExactly("terminate 1 TERM 30 unconfirmed_signal");
        runCycle(29);
        assertThat(node.executed).hasSize(1);
        runCycle(30);
        assertThat(node.executed).hasSize(2);
    }

    @Test
    void announcesDetachments() {
        safety = new SafetyLimits(Duration.ofSeconds(25), NONE, null, 0);
        limits = new Limits(0, Map.of());
        node.setSnapshot(host().devices(1).with(env("a").attached(0)));
        runCycle(0);

        assertThat(next()).containsExactly("detach a 0 25 grace_period");
        runCycle(25);
        assertThat(node.executed).hasSize(1);
        assertThat(next()).isEmpty();
    }

    @Test
    void announcesNothingThatTimeAloneDoesNotLeadTo() {
        node.setSnapshot(host().devices(1).with(process(1).uses(0).immune(Immunity.Kind.EXEMPT, "it is of uid 1007")));
        runCycle(0);
        assertThat(next()).isEmpty();

        node.setSnapshot(stray(2)).readOnly("another enforcer acts here");
        runCycle(10);
        assertThat(next()).isEmpty();
    }

    @Test
    void announcesNothingInAuditMode() {
        mode = ServiceMode.AUDIT;
        safety = new SafetyLimits(Duration.ofSeconds(25), NONE, null, 0);
        runCycle(0);

        assertThat(next()).isEmpty();
    }

    @Test
    void announcesNothingForARuleInAuditMode() {
        modes.put(KnownRules.NON_ENV_PROCESSES, RuleMode.AUDIT);
        safety = new SafetyLimits(Duration.ofSeconds(25), NONE, null, 0);
        runCycle(0);

        assertThat(next()).isEmpty();
    }

    /** Time does not count while the violation is not observed, so its end is unknown. */
    @Test
    void announcesNothingForAViolationThatTheLastCycleDidNotObserve() {
        safety = new SafetyLimits(Duration.ofSeconds(25), NONE, null, 0);
        runCycle(0);
        node.setSnapshot(host().missing(SnapshotPart.values()));
        runCycle(10);

        assertThat(active()).hasSize(1);
        assertThat(next()).isEmpty();
    }

    @Test
    void aResolvedViolationAnnouncesNothing() {
        runCycle(0);
        node.setSnapshot(host().devices(1));
        runCycle(10);

        assertThat(registry.find(_ -> true, 10))
                .singleElement()
                .satisfies(entry -> assertThat(entry.next()).isEmpty());
    }

    @Test
    void aViolationHasABoundedNumberOfAnnouncements() {
        safety = new SafetyLimits(Duration.ofSeconds(25), NONE, null, 0);
        limits = new Limits(0, Map.of());
        var environment = env("a");
        for (var device = 0; device < 150; device++) {
            environment.attached(device);
        }
        node.setSnapshot(host().devices(150).with(environment));
        runCycle(0);

        assertThat(active())
                .singleElement()
                .satisfies(entry -> assertThat(entry.next()).hasSize(100));
    }
}

package dev.genv.enforcer.enforcement.action;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.model.SnapshotPart;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** A signalled process breaks no rule for a while, or is not observed. */
class ComplianceTest extends TerminationFixture {
    @Test
    void compliantProcessIsNotKilled() {
        runCycles(0);
        node.setSnapshot(empty());

        runCycles(10, 20, 30, 40, 50, 60, 120);

        assertThat(signals()).containsExactly("1 TERM");
    }

    @Test
    void sendsSigtermAgainAfterAMinuteOfCompliance() {
        runCycles(0);
        node.setSnapshot(empty());
        runCycles(10, 20, 70);
        node.setSnapshot(stray());

        runCycles(80);
        assertThat(signals()).containsExactly("1 TERM", "1 TERM");
        runCycles(109);
        assertThat(signals()).hasSize(2);
        runCycles(110);
        assertThat(signals()).containsExactly("1 TERM", "1 TERM", "1 KILL");
    }

    @Test
    void killsAProcessThatBreaksTheRuleOnlyInEverySecondObservation() {
        for (var seconds = 0; seconds < 60; seconds += 20) {
            node.setSnapshot(stray());
            runCycles(seconds);
            node.setSnapshot(empty());
            runCycles(seconds + 10);
        }
        assertThat(signals()).as("it broke the rule for 3 × 10 s").containsExactly("1 TERM");
        node.setSnapshot(stray());
        runCycles(60);
        assertThat(signals()).containsExactly("1 TERM", "1 KILL");
    }

    /** When it stopped in a long time between two observations is not known. */
    @Test
    void longIntervalEndingInComplianceCountsForHalfTheKillDelay() {
        runCycles(0);
        node.setSnapshot(empty());
        runCycles(3600);
        node.setSnapshot(stray());
        runCycles(3650, 3664);
        assertThat(signals()).containsExactly("1 TERM");
        runCycles(3665);
        assertThat(signals()).containsExactly("1 TERM", "1 KILL");
    }

    @Test
    void killDelayContinuesWithinTheCompliancePeriod() {
        enforcer = enforcer(new SafetyLimits(Duration.ZERO, KILL_AFTER, Duration.ofMinutes(10), 0));
        runCycles(0, 10);
        node.setSnapshot(empty());
        runCycles(20, 619);
        node.setSnapshot(stray());
        runCycles(629);
        assertThat(signals()).containsExactly("1 TERM");
        runCycles(639);
        assertThat(signals()).as("30 s in all").containsExactly("1 TERM", "1 KILL");
    }

    @Test
    void sendsSigtermAgainAfterTheCompliancePeriod() {
        enforcer = enforcer(new SafetyLimits(Duration.ZERO, KILL_AFTER, Duration.ofMinutes(10), 0));
        runCycles(0, 10);
        node.setSnapshot(empty());
        runCycles(20, 620);
        node.setSnapshot(stray());
        runCycles(630);
        assertThat(signals()).containsExactly("1 TERM", "1 TERM");
    }

    /** A short absence is neither forgiven, which would give a second SIGTERM, nor counted as disobedience. */
    @Test
    void compliantTimeDoesNotCountTowardsTheKillDelay() {
        runCycles(0, 10);
        node.setSnapshot(empty());
        runCycles(20, 60);
        node.setSnapshot(stray());

        runCycles(70, 79);
        assertThat(signals()).containsExactly("1 TERM");
        runCycles(80);
        assertThat(signals()).containsExactly("1 TERM", "1 KILL");
    }

    @Test
    void theKillDelayStandsStillAfterAnIncompleteObservation() {
        runCycles(0);
        node.setSnapshot(host().missing(SnapshotPart.PROCESSES));
        runCycles(10, 30, 90);
        assertThat(signals()).containsExactly("1 TERM");
        node.setSnapshot(stray());

        runCycles(100, 119);
        assertThat(signals()).as("the 10 s until that observation count").containsExactly("1 TERM");

        runCycles(120);
        assertThat(signals()).containsExactly("1 TERM", "1 KILL");
    }

    /** A lost device leaves every observation incomplete for good. */
    @Test
    void forgetsCompliantProcessWhileAnotherIsUnobserved() {
        node.setSnapshot(full());
        runCycles(0);
        node.setSnapshot(host().devices(1)
                .with(env("a").capacity("1000mi").attached(0))
                .with(process(1).inEnvironment("a").uses(0, "10mi"))
                .missing(SnapshotPart.EVERY_PROCESS));
        runCycles(10, 70, 80);
        node.setSnapshot(full());
        runCycles(90, 100);

        assertThat(signals()).containsExactly("1 TERM", "1 TERM");
    }
}

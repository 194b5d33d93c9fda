package dev.genv.enforcer.enforcement.action;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.id;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import org.junit.jupiter.api.Test;

/** SIGKILL follows when a process still breaks a rule long after SIGTERM. */
class KillEscalationTest extends TerminationFixture {
    @Test
    void killsOnceWhenTheViolationPersists() {
        runCycles(0, 10, 20);
        assertThat(signals()).containsExactly("1 TERM");

        runCycles(30, 40, 50);

        assertThat(signals()).containsExactly("1 TERM", "1 KILL");
        assertThat(outcomes()).startsWith("TERM signalled", "KILL signalled");
    }

    @Test
    void neverKillsWhenKillingIsDisabled() {
        enforcer = killingAfter(null);

        runCycles(0, 30, 60, 3600);

        assertThat(signals()).containsExactly("1 TERM");
    }

    @Test
    void reportsThatTheProcessHasExited() {
        runCycles(0);
        node.setSnapshot(empty()).setExited(id("here", 1).id());

        var report = runCycles(10);

        assertThat(report.lines()).contains("Process 1 has ended");
        assertThat(outcomes()).containsExactly("TERM signalled", "TERM exited");
        assertThat(registry.find(entry -> true, 1).getFirst().active()).isFalse();
    }

    /** It lets go of the device first and writes its checkpoint then. */
    @Test
    void reportsExitAfterTheViolationWasResolved() {
        runCycles(0);
        node.setSnapshot(empty());
        runCycles(10);
        node.setExited(id("here", 1).id());
        runCycles(20);

        assertThat(outcomes()).containsExactly("TERM signalled", "TERM exited");
    }

    @Test
    void reportsProcessThatSurvivesSigkill() {
        runCycles(0, 30);
        assertThat(runCycles(39).result()).isEqualTo(CycleResult.SUCCESS);

        assertThat(runCycles(40).result()).isEqualTo(CycleResult.ACTION_FAILED);
        assertThat(runCycles(50).result()).isEqualTo(CycleResult.ACTION_FAILED);

        assertThat(outcomes())
                .as("once: a repetition is no news")
                .containsExactly("TERM signalled", "KILL signalled", "KILL unkillable");
    }

    /** A kernel that forbids it today may allow it tomorrow. */
    @Test
    void retriesDeniedSigkill() {
        runCycles(0);
        node.answerWith(_ -> Result.of(Outcome.DENIED));
        runCycles(30, 40);

        assertThat(signals()).containsExactly("1 TERM", "1 KILL", "1 KILL");
    }

    @Test
    void newProcessWithTheSamePidGetsSigtermFirst() {
        runCycles(0);
        node.setSnapshot(host().devices(1).with(process(1).startedLaterBy(5).uses(0)));

        runCycles(30);

        assertThat(signals()).containsExactly("1 TERM", "1 TERM");
    }

    /** While its memory counts as freed the rule plans no more victims; but it is still there, and over the capacity. */
    @Test
    void onlyTheMemoryVictimIsKilled() {
        node.setSnapshot(full());
        runCycles(0, 10, 20);
        assertThat(signals()).containsExactly("1 TERM");

        runCycles(30, 39);

        assertThat(signals()).containsExactly("1 TERM", "1 KILL");
    }

    /** It gave back what it had, and another one took it: to kill it would free nothing. */
    @Test
    void memoryVictimIsNotKilledWhenItsUsageDrops() {
        node.setSnapshot(full());
        runCycles(0, 10, 20);
        node.setSnapshot(host().devices(1)
                .with(env("a").capacity("1000mi").attached(0))
                .with(
                        process(1).inEnvironment("a").uses(0, "10mi"),
                        process(2).inEnvironment("a").uses(0, "1100mi")));

        runCycles(30, 39);

        assertThat(signals()).doesNotContain("1 KILL");
    }

    @Test
    void memoryVictimIsNotKilledWhenTheCapacitySuffices() {
        node.setSnapshot(full());
        runCycles(0);
        node.setSnapshot(host().devices(1)
                .with(env("a").capacity("1000mi").attached(0))
                .with(process(1).inEnvironment("a").uses(0, "600mi")));

        runCycles(10, 30, 40);

        assertThat(signals()).containsExactly("1 TERM");
    }
}

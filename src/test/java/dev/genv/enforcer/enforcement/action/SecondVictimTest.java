package dev.genv.enforcer.enforcement.action;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import org.junit.jupiter.api.Test;

/** Until a process that was terminated for memory exits, no other process is terminated for that memory. */
class SecondVictimTest extends TerminationFixture {
    private static HostBuilder slightlyLess() {
        return host().devices(1)
                .with(env("a").capacity("1000mi").attached(0))
                .with(
                        process(1).inEnvironment("a").uses(0, "600mi"),
                        process(2).inEnvironment("a").uses(0, "500mi"));
    }

    @Test
    void noOtherProcessWhileTheKilledOneIsStillThere() {
        node.setSnapshot(full());
        runCycles(0, 10, 20, 30);
        assertThat(signals()).containsExactly("1 TERM", "1 KILL");
        node.setSnapshot(slightlyLess());
        runCycles(39, 41);
        assertThat(signals()).containsExactly("1 TERM", "1 KILL");
    }

    @Test
    void noOtherProcessAtAnIntervalAboveTheTimeToSigkill() {
        node.setSnapshot(full());
        runCycles(0);
        node.setSnapshot(slightlyLess());
        runCycles(60);
        assertThat(signals()).doesNotContain("2 TERM");
    }

    /** The rules alone would now choose process 2, which is the smallest that frees enough. */
    @Test
    void killsTheProcessThatWasAskedBeforeAnyOther() {
        node.setSnapshot(full());
        runCycles(0, 10, 20);
        node.setSnapshot(slightlyLess());
        runCycles(30, 39);
        assertThat(signals()).containsExactly("1 TERM", "1 KILL");
    }

    @Test
    void terminatesAnotherOneIfTheKernelCannotRemoveTheFirst() {
        node.setSnapshot(full());
        runCycles(0, 10, 20, 30);
        node.setSnapshot(slightlyLess());
        runCycles(40, 50);
        assertThat(signals()).containsExactly("1 TERM", "1 KILL", "2 TERM");
    }

    @Test
    void terminatesAnotherOneIfTheMemoryOfTheFirstCountsOnlyAWhileLater() {
        node.setSnapshot(full());
        runCycles(0, 10, 20, 30);
        node.setSnapshot(host().devices(1)
                .with(env("a").capacity("2000mi").attached(0))
                .with(
                        process(1).inEnvironment("a").uses(0, "600mi"),
                        process(2).inEnvironment("a").uses(0, "500mi")));
        runCycles(40, 50);
        assertThat(signals()).containsExactly("1 TERM", "1 KILL");
        node.setSnapshot(slightlyLess());
        runCycles(60);
        assertThat(signals()).containsExactly("1 TERM", "1 KILL", "2 TERM");
    }

    @Test
    void noOtherProcessAfterAMissedObservationBeforeSigkill() {
        node.setSnapshot(full());
        runCycles(0, 10, 20, 29);
        node.setSnapshot(host().missing(SnapshotPart.values()));
        runCycles(44);
        node.setSnapshot(slightlyLess());
        runCycles(54, 60);
        assertThat(signals()).containsExactly("1 TERM", "1 KILL");
    }

    /** It was signalled for another reason, and its memory counts as freed. */
    @Test
    void aProcessThatObeyedIsNotKilledForTheMemoryOfItsEnvironment() {
        runCycles(0, 10, 20);
        node.setSnapshot(full());
        runCycles(30, 40, 50);
        assertThat(signals()).containsExactly("1 TERM");
    }

    @Test
    void terminatesAnotherOneIfSigkillIsDenied() {
        node.setSnapshot(full());
        runCycles(0, 10, 20);
        node.answerWith(action ->
                Result.of(((Action.Terminate) action).signal() == Signal.KILL ? Outcome.DENIED : Outcome.SIGNALLED));
        node.setSnapshot(slightlyLess());
        runCycles(30, 39);
        assertThat(signals()).containsExactly("1 TERM", "1 KILL", "1 KILL");
        runCycles(45, 50);
        assertThat(signals()).contains("2 TERM");
    }
}

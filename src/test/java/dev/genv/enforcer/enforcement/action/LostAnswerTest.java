package dev.genv.enforcer.enforcement.action;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.id;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import org.junit.jupiter.api.Test;

/** The answer to SIGTERM was lost, or its host is not in the list for a while. */
class LostAnswerTest extends TerminationFixture {
    /** The connection was cut before the answer came: it may have been asked, or not. */
    @Test
    void possiblySentSigtermIsRepeatedAfterTheDelayBeforeSigkill() {
        node.answerWith(_ -> Result.lost("the connection was lost"));
        runCycles(0);
        node.answerWith(action -> Result.of(Outcome.SIGNALLED));
        runCycles(10, 20);
        assertThat(signals()).as("a second one makes many a trainer abort").containsExactly("1 TERM");

        runCycles(30, 40, 50);
        assertThat(signals()).containsExactly("1 TERM", "1 TERM");
        runCycles(60);
        assertThat(signals()).containsExactly("1 TERM", "1 TERM", "1 KILL");
        assertThat(outcomes()).startsWith("TERM failed", "TERM signalled", "KILL signalled");
    }

    /** A list of hosts may be wrong for a while: that must not make it a second signal. */
    @Test
    void pendingProcessIsRememberedWhileItsHostIsNotListed() {
        runCycles(0);
        hosts.clear();
        runCycles(10, 1000);
        hosts.add(node);
        runCycles(1010);
        assertThat(signals()).containsExactly("1 TERM");

        hosts.clear();
        runCycles(5000);
        hosts.add(node);
        runCycles(5010);
        assertThat(signals()).containsExactly("1 TERM", "1 TERM");
    }

    @Test
    void reportsExitAfterPossiblySentSigterm() {
        node.answerWith(_ -> Result.lost("the connection was lost"));
        runCycles(0);
        node.setSnapshot(empty()).setExited(id("here", 1).id());

        assertThat(runCycles(10).lines()).contains("Process 1 has ended");
    }

    @Test
    void possiblySentSigtermIsRepeatedWhenKillingIsDisabled() {
        enforcer = killingAfter(null);
        node.answerWith(_ -> Result.lost("the connection was lost"));
        runCycles(0, 30);
        assertThat(signals()).hasSize(1);
        runCycles(60);
        assertThat(signals()).containsExactly("1 TERM", "1 TERM");
    }
}

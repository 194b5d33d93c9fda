package dev.genv.enforcer.enforcement.action;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.id;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.model.ProblemCode;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** What is reported of a termination. */
class TerminationReportsTest extends TerminationFixture {
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

    @Test
    void reportsExitAfterPossiblySentSigterm() {
        node.answerWith(_ -> Result.lost("the connection was lost"));
        runCycles(0);
        node.setSnapshot(empty()).setExited(id("here", 1).id());

        assertThat(runCycles(10).lines()).contains("Process 1 has ended");
    }

    @Test
    void reportsProcessesThatWaitForTheTerminationLimit() {
        enforcer = enforcer(new SafetyLimits(Duration.ZERO, null, 2));
        node.setSnapshot(host().devices(1)
                .with(
                        process(1).uses(0),
                        process(2).uses(0),
                        process(3).uses(0),
                        process(4).uses(0),
                        process(5).uses(0)));

        var report = runCycles(0);
        assertThat(signals()).containsExactly("1 TERM", "2 TERM");
        assertThat(report.lines())
                .filteredOn(line -> line.contains("(skipped_limit: the limit of 2 terminations in one cycle"))
                .hasSize(3);
        assertThat(report.fleet().snapshots().getFirst().problems())
                .singleElement()
                .satisfies(problem -> {
                    assertThat(problem.code()).isEqualTo(ProblemCode.TERMINATION_LIMIT_REACHED);
                    assertThat(problem.detail()).contains("5 processes", "3 wait");
                });

        runCycles(10);
        assertThat(signals()).containsExactly("1 TERM", "2 TERM", "3 TERM", "4 TERM");
        assertThat(runCycles(20).fleet().snapshots().getFirst().problems()).isEmpty();
        assertThat(signals()).hasSize(5).last().isEqualTo("5 TERM");
    }

    @Test
    void executesNothingOnReadOnlyHost() {
        node.readOnly("another enforcer acts here");

        var report = runCycles(0);

        assertThat(node.executed).isEmpty();
        assertThat(report.lines()).last().asString().endsWith("(skipped_audit: another enforcer acts here)");
    }
}

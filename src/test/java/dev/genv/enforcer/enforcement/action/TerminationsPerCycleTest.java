package dev.genv.enforcer.enforcement.action;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.Action;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** A cycle terminates a limited number of processes, and the others wait their turn. */
class TerminationsPerCycleTest extends TerminationFixture {
    @Test
    void subordinateUidsShareTheLimitOfTheirUser() {
        enforcer = enforcer(new SafetyLimits(Duration.ZERO, null, 2));
        node.setSnapshot(host().devices(1)
                .subordinate(1001, 200_000, 65_536)
                .with(
                        process(1).uid(200_000).uses(0),
                        process(2).uid(200_001).uses(0),
                        process(3).uid(200_002).uses(0),
                        process(4).uid(1002).uses(0)));

        runCycles(0);
        assertThat(signals()).containsExactly("1 TERM", "4 TERM");
    }

    @Test
    void terminatesAtMostTheConfiguredNumberPerCycle() {
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

    /** A process cannot avoid its termination by other processes of the user that start and exit. */
    @Test
    void signalsLongestWaitingProcessFirst() {
        enforcer = enforcer(new SafetyLimits(Duration.ZERO, null, 1));
        node.setSnapshot(host().devices(1).with(process(1).uses(0), process(9).uses(0)));
        runCycles(0);
        node.setSnapshot(host().devices(1).with(process(2).uses(0), process(9).uses(0)));
        runCycles(10);

        assertThat(signals()).containsExactly("1 TERM", "9 TERM");
    }

    @Test
    void deniedSignalDoesNotDelayOthers() {
        enforcer = enforcer(new SafetyLimits(Duration.ZERO, null, 1));
        node.answerWith(action ->
                Result.of(((Action.Terminate) action).process().pid() == 1 ? Outcome.DENIED : Outcome.SIGNALLED));
        node.setSnapshot(host().devices(1).with(process(1).uses(0), process(9).uses(0)));

        runCycles(0, 10, 20);

        assertThat(signals()).containsExactly("1 TERM", "9 TERM", "1 TERM");
    }

    @Test
    void repeatedlyDeniedSignalsDoNotDelayOthers() {
        enforcer = enforcer(new SafetyLimits(Duration.ZERO, null, 1));
        node.answerWith(action ->
                Result.of(((Action.Terminate) action).process().pid() < 9 ? Outcome.DENIED : Outcome.SIGNALLED));
        node.setSnapshot(host().devices(1)
                .with(
                        process(1).uses(0),
                        process(2).uses(0),
                        process(3).uses(0),
                        process(9).uses(0)));

        runCycles(0, 10, 20, 30);

        assertThat(signals()).containsExactly("1 TERM", "2 TERM", "3 TERM", "9 TERM");
    }

    /** However old their violation is: each process waits for its own turn. */
    @Test
    void newProcessesOfAnOldViolationWaitTheirTurn() {
        enforcer = enforcer(new SafetyLimits(Duration.ZERO, null, 1));
        var environment = env("a").capacity("1mi").attached(0);
        node.setSnapshot(host().devices(1)
                .with(environment)
                .with(process(1).inEnvironment("a").uses(0)));
        runCycles(0);
        node.setSnapshot(host().devices(1)
                .with(environment)
                .with(
                        process(1).inEnvironment("a").uses(0),
                        process(2).inEnvironment("a").uses(0),
                        process(9).uses(0)));
        runCycles(10);
        node.setSnapshot(host().devices(1)
                .with(environment)
                .with(
                        process(1).inEnvironment("a").uses(0),
                        process(2).inEnvironment("a").uses(0),
                        process(3).inEnvironment("a").uses(0),
                        process(9).uses(0)));
        runCycles(20);

        assertThat(signals()).hasSize(3).contains("9 TERM");
    }

    @Test
    void executesNothingOnReadOnlyHost() {
        node.readOnly("another enforcer acts here");

        var report = runCycles(0);

        assertThat(node.executed).isEmpty();
        assertThat(report.lines()).last().asString().endsWith("(skipped_audit: another enforcer acts here)");
    }
}

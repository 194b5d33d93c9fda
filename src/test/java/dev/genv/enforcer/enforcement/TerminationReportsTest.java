package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.id;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.fake.NoStore;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What is reported of a termination. {@link TerminationTableTest} shows which signals are sent. */
class TerminationReportsTest {
    private final FakeTime time = new FakeTime();
    private final ViolationRegistry registry = new ViolationRegistry(10);
    private final FakeHost node = new FakeHost(host().devices(1).with("process 1 on 0"));
    private final Enforcer enforcer = EnforcerFactory.create(
            EnforcerConfigBuilder.enforcerConfig(node)
                    .rules(Map.of(KnownRules.NON_ENV_PROCESSES, RuleMode.ENFORCE), Limits.NONE)
                    .safetyLimits(new SafetyLimits(Duration.ZERO, Duration.ofSeconds(30), 2))
                    .build(),
            NoStore.records(registry),
            time.ticker(),
            List.of());

    @Test
    void reportsThatTheProcessHasExited() {
        runCycle(0);
        node.setSnapshot(host().devices(1)).setExited(id("here", 1).id());

        assertThat(runCycle(10).lines()).contains("Process 1 has ended");
        assertThat(outcomes()).containsExactly("TERM signalled", "TERM exited");
        assertThat(registry.active()).isEmpty();
    }

    /** It lets go of the device first and writes its checkpoint then. */
    @Test
    void reportsExitAfterTheViolationWasResolved() {
        runCycle(0);
        node.setSnapshot(host().devices(1));
        runCycle(10);
        node.setExited(id("here", 1).id());
        runCycle(20);

        assertThat(outcomes()).containsExactly("TERM signalled", "TERM exited");
    }

    @Test
    void reportsProcessThatSurvivesSigkill() {
        runCycle(0);
        runCycle(30);
        assertThat(runCycle(39).result()).isEqualTo(CycleResult.SUCCESS);

        assertThat(runCycle(40).result()).isEqualTo(CycleResult.ACTION_FAILED);
        assertThat(runCycle(50).result()).isEqualTo(CycleResult.ACTION_FAILED);

        assertThat(outcomes())
                .as("once: a repetition is no news")
                .containsExactly("TERM signalled", "KILL signalled", "KILL unkillable");
    }

    @Test
    void reportsExitAfterPossiblySentSigterm() {
        node.answerWith(_ -> Result.lost("the connection was lost"));
        runCycle(0);
        node.setSnapshot(host().devices(1)).setExited(id("here", 1).id());

        assertThat(runCycle(10).lines()).contains("Process 1 has ended");
    }

    @Test
    void reportsProcessesThatWaitForTheTerminationLimit() {
        node.setSnapshot(host().devices(1)
                .with("process 1 on 0", "process 2 on 0", "process 3 on 0", "process 4 on 0", "process 5 on 0"));

        var report = runCycle(0);
        assertThat(report.lines())
                .filteredOn(line -> line.contains("(skipped_limit: the limit of 2 terminations in one cycle"))
                .hasSize(3);
        assertThat(report.fleet().snapshots().getFirst().problems())
                .singleElement()
                .satisfies(problem -> {
                    assertThat(problem.code()).isEqualTo(ProblemCode.TERMINATION_LIMIT_REACHED);
                    assertThat(problem.detail()).contains("5 processes", "3 wait");
                });

        runCycle(10);
        assertThat(runCycle(20).fleet().snapshots().getFirst().problems()).isEmpty();
    }

    private CycleReport runCycle(int second) {
        time.passTo(Duration.ofSeconds(second));
        return enforcer.runCycle().orElseThrow();
    }

    private List<String> outcomes() {
        return registry.find(_ -> true, 10).stream()
                .flatMap(entry -> entry.actions().stream())
                .map(note -> note.signal() + " " + note.outcome().label())
                .toList();
    }
}

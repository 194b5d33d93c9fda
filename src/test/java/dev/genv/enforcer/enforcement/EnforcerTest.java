package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What a cycle does with the violations that it finds. */
class EnforcerTest extends EnforcerFixture {
    @Test
    void cycleObservesEvaluatesActsAndRecords() {
        var node = new FakeHost(host().devices(1).with(process(1).uses(0)));

        var report = enforcer(ServiceMode.ENFORCE, node).runCycle().orElseThrow();

        assertThat(report.result()).isEqualTo(CycleResult.SUCCESS);
        assertThat(report.lines())
                .containsExactly(
                        "Process 1 is not running in a GPU environment",
                        "Terminating process 1 from environment N/A that is running on GPU(s) 0");
        assertThat(node.executed).hasSize(1);
        assertThat(all()).singleElement().satisfies(entry -> {
            assertThat(entry.active()).isTrue();
            assertThat(entry.mode()).isEqualTo(RuleMode.ENFORCE);
            assertThat(entry.actions()).singleElement().satisfies(note -> {
                assertThat(note.outcome()).isEqualTo(Outcome.SIGNALLED);
                assertThat(note.signal()).isEqualTo("TERM");
            });
        });
        assertThat(reports).containsExactly(report);
    }

    @Test
    void retriesDeniedSignals() {
        var node = new FakeHost(host().devices(1).with(process(1).uses(0)))
                .answerWith(action -> Result.of(Outcome.DENIED));
        var enforcer = enforcer(ServiceMode.ENFORCE, node);
        enforcer.runCycle();
        var report = enforcer.runCycle().orElseThrow();

        assertThat(node.executed).hasSize(2);
        assertThat(report.result()).isEqualTo(CycleResult.ACTION_FAILED);
        assertThat(report.lines()).endsWith("Not enough permissions to terminate process 1");
        assertThat(all().getFirst().actions()).as("a repetition is no news").hasSize(1);
    }

    @Test
    void executesNothingInAuditMode() {
        limits = new Limits(0, Map.of());
        var node = new FakeHost(host().devices(1)
                .with(env("a").attached(0))
                .with(process(1).uses(0), process(2).inEnvironment("a").uses(0)));

        var report = enforcer(ServiceMode.AUDIT, node).runCycle().orElseThrow();

        assertThat(node.executed).isEmpty();
        assertThat(report.lines())
                .containsExactly(
                        "Process 1 is not running in a GPU environment",
                        "User raz is using 1 devices which is 1 more than the maximum allowed",
                        "Terminating process 1 from environment N/A that is running on GPU(s) 0"
                                + " (skipped_audit: the service only audits)",
                        "Terminating process 2 from environment a that is running on GPU(s) 0"
                                + " (skipped_audit: the service only audits)",
                        "Detaching environment a of user raz from device 0"
                                + " (skipped_audit: the service only audits)");
        assertThat(all()).allSatisfy(entry -> {
            assertThat(entry.mode()).isEqualTo(RuleMode.AUDIT);
            assertThat(entry.actions()).allSatisfy(note -> {
                assertThat(note.outcome()).isEqualTo(Outcome.SKIPPED_AUDIT);
                assertThat(note.signal()).isNull();
            });
        });
    }

    @Test
    void disablingSignalsDoesNotDisableDetachments() {
        limits = new Limits(0, Map.of());
        var node = new FakeHost(host().devices(1)
                .with(env("a").attached(0))
                .with(process(2).inEnvironment("a").uses(0)));

        enforcer(ServiceMode.ENFORCE, false, node).runCycle();

        assertThat(node.executed).singleElement().isInstanceOf(Action.Detach.class);
    }

    @Test
    void problemFoundByARuleIsReportedForItsHost() {
        var node = new FakeHost(host().devices(1).with(env("a").capacity("4x").attached(0)));

        var report = enforcer(ServiceMode.ENFORCE, node).runCycle().orElseThrow();

        assertThat(report.fleet().snapshots().getFirst().problems())
                .anySatisfy(problem -> assertThat(problem.detail()).contains("4x"));
        assertThat(report.isComplete()).isTrue();
    }
}

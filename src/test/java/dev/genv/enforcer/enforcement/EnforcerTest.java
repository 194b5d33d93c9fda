package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.enforcement.record.ViolationRecord;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import java.time.Duration;
import java.util.List;
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
    void signalsAProcessOnlyOnce() {
        var node = new FakeHost(host().devices(1).with(process(1).uses(0)));
        var enforcer = enforcer(ServiceMode.ENFORCE, node);

        for (var cycle = 0; cycle < 20; cycle++) {
            enforcer.runCycle();
            time.pass(Duration.ofSeconds(10)); // also long after the time in which it counts as gone
        }

        assertThat(node.executed).hasSize(1);
        assertThat(all()).singleElement().satisfies(entry -> {
            assertThat(entry.cycles()).isEqualTo(20);
            assertThat(entry.actions()).hasSize(1);
        });
    }

    @Test
    void signalsAProcessOnlyOnceEvenIfUnobservedMeanwhile() {
        var stray = host().devices(1).with(process(1).uses(0));
        var node = new FakeHost(stray);
        var enforcer = enforcer(ServiceMode.ENFORCE, node);
        enforcer.runCycle();
        node.setSnapshot(host().devices(1));
        enforcer.runCycle();
        time.pass(Duration.ofMinutes(10));
        node.setSnapshot(stray);
        enforcer.runCycle();

        assertThat(node.executed).hasSize(1);
    }

    @Test
    void signalsANewProcessWithTheSamePid() {
        var node = new FakeHost(host().devices(1).with(process(1).uses(0)));
        var enforcer = enforcer(ServiceMode.ENFORCE, node);
        enforcer.runCycle();

        node.setSnapshot(host().devices(1).with(process(1).startedLaterBy(5).uses(0)));
        enforcer.runCycle();

        assertThat(node.executed).hasSize(2);
        assertThat(all()).extracting(ViolationRecord::active).containsExactlyInAnyOrder(true, false);
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

    /** Two processes, one of which is enough: while the asked one still holds its memory, the other one is safe. */
    @Test
    void memoryOfRecentlySignalledProcessCountsAsFreed() {
        var full = host().devices(1)
                .with(env("a").capacity("1000mi").attached(0))
                .with(
                        process(1).inEnvironment("a").uses(0, "600mi"),
                        process(2).inEnvironment("a").uses(0, "700mi"));
        var node = new FakeHost(full);
        var enforcer = enforcer(ServiceMode.ENFORCE, node);
        enforcer.runCycle();
        time.pass(Duration.ofSeconds(59));
        enforcer.runCycle();

        assertThat(terminated(node)).containsExactly(1);
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

    private static List<Integer> terminated(FakeHost node) {
        return node.executed.stream()
                .map(action -> ((Action.Terminate) action).process().pid())
                .toList();
    }
}

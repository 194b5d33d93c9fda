package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.NoStore;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class DeniedPrivilegesTest {
    private final FakeHost node = new FakeHost(host("gpu-1").devices(1));
    private final FakeHost other =
            new FakeHost(host("gpu-2").devices(1).with(process(2).uses(0)));
    private final Enforcer enforcer = EnforcerFactory.create(
            EnforcerConfigBuilder.enforcerConfig(node, other)
                    .rules(Map.of(KnownRules.NON_ENV_PROCESSES, RuleMode.ENFORCE), Limits.NONE)
                    .build(),
            NoStore.records(new ViolationRegistry(10)),
            Ticker.ofSystem(),
            List.of());

    @AfterEach
    void stop() {
        enforcer.stop();
    }

    @Test
    void aDeniedSignalMeansThatKillIsMissingOnThatHostAlone() {
        node.setSnapshot(host("gpu-1").devices(1).with(process(1).uses(0)))
                .answerWith(action -> new Result(Outcome.DENIED, "needs the capability CAP_KILL"));
        var reports = cycle();
        assertThat(reports.getFirst().details().missingPrivileges()).containsExactly("KILL");
        assertThat(missing(reports.getFirst()))
                .singleElement()
                .satisfies(problem -> assertThat(problem.detail()).startsWith("KILL: "));
        assertThat(reports.getLast().details().missingPrivileges()).isEmpty();
        assertThat(missing(reports.getLast())).isEmpty();
        node.setMissingPrivileges("KILL");
        assertThat(cycle().getFirst().details().missingPrivileges()).as("once").containsExactly("KILL");
    }

    @Test
    void aProcessThatCannotBeReadMeansThatOneOfTwoPrivilegesIsMissing() {
        node.setSnapshot(host("gpu-1").devices(1).with(process(1).uses(0).unreadable()));
        var report = cycle().getFirst();
        assertThat(report.details().missingPrivileges()).containsExactly("SYS_PTRACE", "DAC_READ_SEARCH");
        assertThat(missing(report)).hasSize(2);
    }

    @Test
    void whatTheHostReportsByItselfExplainsTheRest() {
        node.setSnapshot(host("gpu-1").devices(1).with(process(1).uses(0).unreadable()));
        for (var known : List.of("SYS_PTRACE", "DAC_READ_SEARCH", "APPARMOR")) {
            node.setMissingPrivileges(known);
            assertThat(cycle().getFirst().details().missingPrivileges()).containsExactly(known);
        }
    }

    private List<Snapshot> cycle() {
        return enforcer.runCycle().orElseThrow().fleet().snapshots();
    }

    private static List<Problem> missing(Snapshot report) {
        return report.problems().stream()
                .filter(problem -> problem.code() == ProblemCode.MISSING_PRIVILEGE)
                .toList();
    }
}

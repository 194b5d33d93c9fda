package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.remote;
import static dev.genv.enforcer.testsupport.builder.Plans.enforce;
import static dev.genv.enforcer.testsupport.builder.Plans.lines;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.testsupport.KnownRules;
import java.util.List;
import org.junit.jupiter.api.Test;

class NonEnvProcessesRuleTest {

    @Test
    void terminatesProcessOutsideAllEnvironments() {
        var plan = check(host().devices(1).with(process(63600).uses(0)).fleet());
        assertThat(lines(plan))
                .containsExactly(
                        "Process 63600 is not running in a GPU environment",
                        "Terminating process 63600 from environment N/A that is running on GPU(s) 0");
    }

    @Test
    void messageNamesHostInRemoteMode() {
        var plan = check(remote(host("gpu-1").devices(1).with(process(7).uses(0))));
        assertThat(lines(plan)).first().isEqualTo("[gpu-1] Process 7 is not running in a GPU environment");
    }

    @Test
    void violationNamesUserDevicesAndProcess() {
        var culprit = process(7).account("raz").uses(2, 1);
        var plan = check(host("gpu-1").devices(3).with(culprit).fleet());
        assertThat(plan.violations())
                .containsExactly(new Violation(
                        KnownRules.NON_ENV_PROCESSES,
                        "gpu-1",
                        "process 7 991232",
                        "Process 7 is not running in a GPU environment",
                        "raz",
                        null,
                        List.of(1, 2),
                        List.of(culprit.build())));
    }

    @Test
    void ignoresProcessesThatNameAnEnvironment() {
        var plan = check(host().devices(1)
                .with(env("a").attached(0))
                .with(
                        process(1).inEnvironment("a").uses(0),
                        process(2).inEnvironment("gone").uses(0))
                .fleet());
        assertThat(plan).isEqualTo(Plan.EMPTY);
    }

    @Test
    void ignoresProcessesOfUnknownMembership() {
        var plan = check(
                host().devices(1).with(process(1).membershipUnknown().uses(0)).fleet());
        assertThat(plan).isEqualTo(Plan.EMPTY);
    }

    @Test
    void doesNothingWhenProcessesAreMissing() {
        var plan = check(host().devices(1)
                .with(process(1).uses(0))
                .missing(SnapshotPart.PROCESSES)
                .fleet());
        assertThat(plan).isEqualTo(Plan.EMPTY);
    }

    @Test
    void needsNoAttachments() {
        var plan = check(host().devices(1)
                .with(process(1).uses(0))
                .missing(SnapshotPart.ATTACHMENTS)
                .fleet());
        assertThat(plan.actions()).hasSize(1);
    }

    private static Plan check(Fleet fleet) {
        return enforce(fleet, KnownRules.NON_ENV_PROCESSES);
    }
}

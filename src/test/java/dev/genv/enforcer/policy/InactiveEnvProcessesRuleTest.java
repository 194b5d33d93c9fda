package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.remote;
import static dev.genv.enforcer.testsupport.builder.Plans.enforce;
import static dev.genv.enforcer.testsupport.builder.Plans.lines;
import static dev.genv.enforcer.testsupport.builder.Plans.terminatedPids;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class InactiveEnvProcessesRuleTest {

    @Test
    void terminatesProcessOfInactiveEnvironment() {
        var plan = check(hostWithProcessOfInactiveEnvironment().fleet());
        assertThat(lines(plan))
                .containsExactly(
                        "Process 812 names environment 4711, which is not active",
                        "Terminating process 812 from environment 4711 that is running on GPU(s) 0,1");
    }

    @Test
    void messageNamesHostInRemoteMode() {
        assertThat(lines(check(remote(hostWithProcessOfInactiveEnvironment()))))
                .first()
                .isEqualTo("[gpu-1] Process 812 names environment 4711, which is not active");
    }

    @Test
    void violationNamesEnvironmentDevicesAndProcesses() {
        assertThat(check(hostWithProcessOfInactiveEnvironment().fleet()).violations())
                .containsExactly(new Violation(
                        KnownRules.INACTIVE_ENV_PROCESSES,
                        "gpu-1",
                        "process 812 991232",
                        "Process 812 names environment 4711, which is not active",
                        "raz",
                        "4711",
                        List.of(0, 1),
                        List.of(process(812)
                                .account("raz")
                                .inEnvironment("4711")
                                .uses(0, 1)
                                .build())));
    }

    @Test
    void environmentOnAnotherHostDoesNotCount() {
        var plan = check(remote(
                hostWithProcessOfInactiveEnvironment(), host("gpu-2").devices(1).with(env("4711"))));
        assertThat(terminatedPids(plan)).containsExactly(812);
    }

    @Test
    void ignoresProcessesThatNameNoInactiveEnvironment() {
        var plan = check(host().devices(1)
                .with(env("a"))
                .with(
                        process(1).inEnvironment("a").uses(0),
                        process(2).uses(0),
                        process(3).membershipUnknown().uses(0))
                .fleet());
        assertThat(plan).isEqualTo(Plan.EMPTY);
    }

    @ParameterizedTest
    @EnumSource(
            value = SnapshotPart.class,
            names = {"PROCESSES", "ENVIRONMENTS"})
    void doesNothingWithoutProcessesOrEnvironments(SnapshotPart missing) {
        assertThat(check(hostWithProcessOfInactiveEnvironment().missing(missing).fleet()))
                .isEqualTo(Plan.EMPTY);
    }

    @Test
    void needsNoAttachments() {
        assertThat(terminatedPids(check(hostWithProcessOfInactiveEnvironment()
                        .missing(SnapshotPart.ATTACHMENTS)
                        .fleet())))
                .containsExactly(812);
    }

    private static HostBuilder hostWithProcessOfInactiveEnvironment() {
        return host("gpu-1")
                .devices(2)
                .with(process(812).account("raz").inEnvironment("4711").uses(0, 1));
    }

    private static Plan check(Fleet fleet) {
        return enforce(fleet, KnownRules.INACTIVE_ENV_PROCESSES);
    }
}

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

class EnvDevicesRuleTest {

    @Test
    void terminatesProcessOnDevicesNotAttachedToItsEnvironment() {
        var plan = check(hostWithUnattachedUse().fleet());
        assertThat(lines(plan))
                .containsExactly(
                        "Process 67708 from environment 67609 is using non-attached GPU(s) 1,2",
                        "Terminating process 67708 from environment 67609 that is running on GPU(s) 0,1,2");
    }

    @Test
    void messageNamesHostInRemoteMode() {
        assertThat(lines(check(remote(hostWithUnattachedUse()))))
                .first()
                .isEqualTo("[gpu-1] Process 67708 from environment 67609 is using non-attached GPU(s) 1,2");
    }

    @Test
    void violationNamesUserEnvironmentDevicesAndProcesses() {
        assertThat(check(hostWithUnattachedUse().fleet()).violations())
                .containsExactly(new Violation(
                        KnownRules.ENV_DEVICES,
                        "gpu-1",
                        "process 67708 991232",
                        "Process 67708 from environment 67609 is using non-attached GPU(s) 1,2",
                        "raz",
                        "67609",
                        List.of(1, 2),
                        List.of(process(67708)
                                .inEnvironment("67609")
                                .uses(0, 1, 2)
                                .build())));
    }

    @Test
    void doesNothingForProcessOnAttachedDevices() {
        var plan = check(host().devices(2)
                .with(env("a").attached(0, 1), env("b").attached(1))
                .with(
                        process(1).inEnvironment("a").uses(0, 1),
                        process(2).inEnvironment("b").uses(1))
                .fleet());
        assertThat(plan).isEqualTo(Plan.EMPTY);
    }

    @Test
    void attachmentOfAnotherEnvironmentDoesNotCount() {
        var plan = check(host().devices(1)
                .with(env("a").attached(0), env("b"))
                .with(process(1).inEnvironment("b").uses(0))
                .fleet());
        assertThat(terminatedPids(plan)).containsExactly(1);
    }

    @Test
    void attachmentOnAnotherHostDoesNotCount() {
        var plan = check(remote(
                host("gpu-1").devices(1).with(env("a").attached(0)),
                host("gpu-2")
                        .devices(1)
                        .with(env("a"))
                        .with(process(1).inEnvironment("a").uses(0))));
        assertThat(lines(plan))
                .first()
                .isEqualTo("[gpu-2] Process 1 from environment a is using non-attached GPU(s) 0");
    }

    @Test
    void checksProcessesOfEveryUid() {
        var plan = check(host().devices(1)
                .with(env("a"))
                .with(
                        process(1).inEnvironment("a").uid(0).uses(0),
                        process(2).inEnvironment("a").uidUnknown().uses(0))
                .fleet());
        assertThat(terminatedPids(plan)).containsExactly(1, 2);
    }

    @Test
    void ignoresDevicesMissingFromTheState() {
        var plan = check(host().devices(3)
                .undescribed(2)
                .with(env("a").attached(0), env("b").attached(0))
                .with(
                        process(1).inEnvironment("a").uses(0, 2),
                        process(2).inEnvironment("b").uses(1, 2))
                .fleet());
        assertThat(lines(plan)).first().isEqualTo("Process 2 from environment b is using non-attached GPU(s) 1");
        assertThat(terminatedPids(plan)).containsExactly(2);
    }

    @Test
    void ignoresProcessesOutsideLiveEnvironments() {
        var plan = check(host().devices(1)
                .with(env("a").attached(0))
                .with(
                        process(1).inEnvironment("gone").uses(0),
                        process(2).uses(0),
                        process(3).membershipUnknown().uses(0))
                .fleet());
        assertThat(plan).isEqualTo(Plan.EMPTY);
    }

    @ParameterizedTest
    @EnumSource(
            value = SnapshotPart.class,
            mode = EnumSource.Mode.EXCLUDE,
            names = {"EVERY_PROCESS", "EVERY_ENVIRON"})
    void doesNothingWhenSnapshotIsIncomplete(SnapshotPart missing) {
        assertThat(check(hostWithUnattachedUse().missing(missing).fleet())).isEqualTo(Plan.EMPTY);
    }

    private static HostBuilder hostWithUnattachedUse() {
        return host("gpu-1")
                .devices(3)
                .with(env("67609").attached(0))
                .with(process(67708).inEnvironment("67609").uses(2, 0, 1));
    }

    private static Plan check(Fleet fleet) {
        return enforce(fleet, KnownRules.ENV_DEVICES);
    }
}

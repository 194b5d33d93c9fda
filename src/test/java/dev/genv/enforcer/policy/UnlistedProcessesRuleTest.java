package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.builder.Plans;
import org.junit.jupiter.api.Test;

class UnlistedProcessesRuleTest {
    private static Plan check(HostBuilder host) {
        return Plans.enforce(host.fleet(), KnownRules.UNLISTED_PROCESSES);
    }

    @Test
    void reportsProcessOutsideOfAllEnvironments() {
        var plan = check(host().devices(2).withUnlisted(process(7).usesUnknown(1)));
        assertThat(plan.actions()).isEmpty();
        assertThat(plan.violations())
                .extracting(Violation::message)
                .containsExactly(
                        "Process 7 uses GPU(s) 1 without being listed, and is in no environment that they are attached"
                                + " to");
    }

    @Test
    void reportsProcessOfAnEnvironmentWithoutTheDevice() {
        var plan = check(host().devices(2)
                .with(env("1").attached(0))
                .withUnlisted(process(7).inEnvironment("1").usesUnknown(1)));
        assertThat(plan.violations()).hasSize(1);
    }

    @Test
    void ignoresProcessThatUsesAlsoAnAttachedDevice() {
        var plan = check(host().devices(2)
                .with(env("1").attached(0))
                .withUnlisted(process(7).inEnvironment("1").usesUnknown(0).usesUnknown(1)));
        assertThat(plan.violations()).isEmpty();
    }

    /** Otherwise an id that names no environment would be a shield. */
    @Test
    void reportsProcessOfAnEnvironmentThatIsNotActive() {
        var plan = check(host().devices(2)
                .undescribed(1)
                .withUnlisted(process(8)
                        .account("raz")
                        .inEnvironment("made up")
                        .uses(0)
                        .usesUnknown(1)));
        assertThat(plan.violations()).singleElement().satisfies(violation -> {
            assertThat(violation.environment()).isEqualTo("made up");
            assertThat(violation.user()).isEqualTo("raz");
            assertThat(violation.devices()).containsExactly(0, 1);
        });
    }

    @Test
    void ignoresUnknownMembership() {
        var plan = check(
                host().devices(1).withUnlisted(process(7).membershipUnknown().usesUnknown(0)));
        assertThat(plan.violations()).isEmpty();
    }

    @Test
    void ignoresEnvironmentWhoseDeviceIsNotDescribed() {
        var plan = check(host().devices(2)
                .undescribed(1)
                .with(env("1"))
                .withUnlisted(process(7).inEnvironment("1").usesUnknown(1)));
        assertThat(plan.violations()).isEmpty();
    }

    @Test
    void ignoresProcessThatProvesNoUse() {
        var plan = check(host().devices(2)
                .with(env("1").attached(0))
                .withFilesOpen(
                        process(7).usesUnknown(1), process(8).inEnvironment("1").usesUnknown(1)));
        assertThat(plan.violations()).isEmpty();
    }

    @Test
    void ignoresListedProcess() {
        assertThat(check(host().devices(1).with(process(7).uses(0))).violations())
                .isEmpty();
    }

    /** Which environments are active is unknown then. */
    @Test
    void doesNotActWithoutTheEnvironments() {
        var plan = check(host().devices(1)
                .missing(SnapshotPart.ENVIRONMENTS)
                .withUnlisted(process(7).inEnvironment("1").usesUnknown(0)));
        assertThat(plan.violations()).isEmpty();
    }

    @Test
    void doesNotActWithoutTheAttachments() {
        var plan = check(host().devices(1)
                .missing(SnapshotPart.ATTACHMENTS)
                .withUnlisted(process(7).usesUnknown(0)));
        assertThat(plan.violations()).isEmpty();
    }
}

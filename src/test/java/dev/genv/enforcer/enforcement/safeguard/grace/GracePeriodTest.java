package dev.genv.enforcer.enforcement.safeguard.grace;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.action.SafetyLimits;
import dev.genv.enforcer.model.Immunity;
import dev.genv.enforcer.policy.definition.Limits;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The grace period of a violation, and who is never acted against. */
class GracePeriodTest extends GraceFixture {
    @Test
    void violationIsEnforcedOnlyAfterTheGracePeriod() {
        safetyLimits = new SafetyLimits(Duration.ofSeconds(30), Duration.ZERO, null, 0);
        observe(at(0), host().devices(1).with(process(1).uses(0)));
        runCycles(10, 29);

        assertThat(node.executed).isEmpty();
        assertThat(outcomes()).as("told once").containsExactly("skipped_grace");

        runCycles(30);
        assertThat(outcomes()).containsExactly("skipped_grace", "signalled");
    }

    @Test
    void gracePeriodRestartsAfterTheCompliancePeriod() {
        safetyLimits = new SafetyLimits(Duration.ofSeconds(30), Duration.ZERO, null, 0);
        var stray = host().devices(1).with(process(1).uses(0));
        observe(at(0), stray);
        observe(at(10), host().devices(1));
        runCycles(75);
        observe(at(80), stray);
        runCycles(109);
        assertThat(node.executed).isEmpty();

        runCycles(110);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void gracePeriodExpiresForViolationInEverySecondObservation() {
        safetyLimits = new SafetyLimits(Duration.ofSeconds(30), Duration.ZERO, null, 0);
        var stray = host().devices(1).with(process(1).uses(0));
        for (var second = 0; second < 60; second += 20) {
            observe(at(second), stray);
            observe(at(second + 10), host().devices(1));
        }
        assertThat(node.executed).isEmpty();

        observe(at(60), stray);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void actsWhenTheGracePeriodOfOneRuleHasExpired() {
        safetyLimits = new SafetyLimits(Duration.ofSeconds(30), Duration.ZERO, null, 0);
        observe(at(0), at(a().capacity("1000mi").attached(0), inA().uses(0, "2000mi")));
        observe(
                at(29),
                at(a().capacity("1000mi").attached(0), inA().uses(0, "2000mi").uses(1)));
        assertThat(node.executed).isEmpty();

        runCycles(30);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void processThatAppearedWithItsEnvironmentGetsNoGrace() {
        node.setTicks(900_000);
        observe(at(0), at(env("b")));
        node.setTicks(1_000_000);
        observe(at(10), at(a().livePidsOf(1000), inA().uses(0)));

        assertThat(node.executed).hasSize(1);
    }

    /** A process that breaks different rules in turn has broken rules all the time. */
    @Test
    void gracePeriodCountsPerProcessAcrossRules() {
        safetyLimits = new SafetyLimits(Duration.ofSeconds(30), Duration.ZERO, null, 0);
        observe(at(0), at(process(1).uses(0)));
        observe(at(10), at(inA().uses(0)));
        observe(at(20), at(process(1).uses(0)));
        observe(at(30), at(inA().uses(0)));

        assertThat(node.executed).hasSize(1);
    }

    @Test
    void immuneProcessesAreReportedAndNotTerminated() {
        observe(
                at(0),
                host().devices(1)
                        .with(
                                process(1).uses(0).immune(Immunity.Kind.PROTECTED, "it runs /usr/bin/server"),
                                process(2).uses(0).immune(Immunity.Kind.EXEMPT, "it is of uid 1007")));

        assertThat(node.executed).isEmpty();
        assertThat(outcomes()).containsExactlyInAnyOrder("skipped_protected", "skipped_exempt");
        assertThat(registry.find(entry -> entry.active(), 10)).hasSize(2);
    }

    @Test
    void exemptEnvironmentIsNotDetached() {
        limits = new Limits(0, Map.of());
        observe(at(0), at(a().exempt().attached(0)));

        assertThat(node.executed).isEmpty();
        assertThat(outcomes()).containsExactly("skipped_exempt");
    }
}

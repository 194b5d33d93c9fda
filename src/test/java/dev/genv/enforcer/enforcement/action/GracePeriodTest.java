package dev.genv.enforcer.enforcement.action;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The grace period of a violation, and who is never acted against. */
class GracePeriodTest extends GraceFixture {
    @Test
    void violationIsEnforcedOnlyAfterTheGracePeriod() {
        observe(at(0), host().devices(1).with(process(1).uses(0)));
        runCycles(10, 29);

        assertThat(node.executed).isEmpty();
        assertThat(outcomes()).as("told once").containsExactly("skipped_grace");

        runCycles(30);
        assertThat(outcomes()).containsExactly("skipped_grace", "signalled");
    }

    @Test
    void gracePeriodRestartsAfterAnHourWithoutTheViolation() {
        var stray = host().devices(1).with(process(1).uses(0));
        observe(at(0), stray);
        observe(at(10), host().devices(1));
        for (var second = 20; second <= 3650; second += 20) {
            runCycles(second);
        }
        observe(at(3660), stray);
        runCycles(3680);
        assertThat(node.executed).isEmpty();

        runCycles(3690);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void gracePeriodExpiresForViolationInEverySecondObservation() {
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
        observe(at(0), at(a().capacity("1000mi").attached(0), inA().uses(0, "2000mi")));
        observe(
                at(29),
                at(a().capacity("1000mi").attached(0), inA().uses(0, "2000mi").uses(1)));
        assertThat(node.executed).isEmpty();

        runCycles(30);
        assertThat(node.executed).hasSize(1);
    }

    /** The time of an audited rule, or of another one, does not count. */
    @Test
    void eachRuleHasAGracePeriodOfItsOwn() {
        observe(at(0), at(process(1).uses(0)));
        observe(at(20), at(inA().uses(0)));
        observe(at(40), at(process(1).uses(0)));
        assertThat(node.executed).isEmpty();
        runCycles(50);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void withoutAGracePeriodTheServiceActsAtOnce() {
        safetyLimits = SafetyLimits.NONE;
        observe(at(0), at(a(), inA().uses(0)));
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

package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Immunity;
import dev.genv.enforcer.policy.DeviceLimits;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The grace period of a violation, and who is never acted against. */
class GraceTest extends GraceFixture {
    @Test
    void aViolationIsEnforcedOnlyWhenItHasLasted() {
        restraint = new Restraint(Duration.ofSeconds(30), Duration.ZERO, null, 0);
        shows(at(0), host().devices(1).with(process(1).uses(0)));
        cycles(10, 29);

        assertThat(node.performed).isEmpty();
        assertThat(outcomes()).as("told once").containsExactly("skipped_grace");

        cycles(30);
        assertThat(outcomes()).containsExactly("skipped_grace", "signalled");
    }

    @Test
    void aViolationThatWasOverForTheCompliancePeriodBeginsAnew() {
        restraint = new Restraint(Duration.ofSeconds(30), Duration.ZERO, null, 0);
        var stray = host().devices(1).with(process(1).uses(0));
        shows(at(0), stray);
        shows(at(10), host().devices(1));
        cycles(75);
        shows(at(80), stray);
        cycles(109);
        assertThat(node.performed).isEmpty();

        cycles(110);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void theGracePeriodEndsAlsoForAProcessThatBreaksARuleInEverySecondObservation() {
        restraint = new Restraint(Duration.ofSeconds(30), Duration.ZERO, null, 0);
        var stray = host().devices(1).with(process(1).uses(0));
        for (var second = 0; second < 60; second += 20) {
            shows(at(second), stray);
            shows(at(second + 10), host().devices(1));
        }
        assertThat(node.performed).isEmpty();

        shows(at(60), stray);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void oneRuleWhoseTimeHasComeIsEnough() {
        restraint = new Restraint(Duration.ofSeconds(30), Duration.ZERO, null, 0);
        shows(at(0), at(a().capacity("1000mi").attached(0), inA().uses(0, "2000mi")));
        shows(
                at(29),
                at(a().capacity("1000mi").attached(0), inA().uses(0, "2000mi").uses(1)));
        assertThat(node.performed).isEmpty();

        cycles(30);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void aProcessThatCameWithItsEnvironmentHasNoMoreTimeThanOthers() {
        node.at(900_000);
        shows(at(0), at(env("b")));
        node.at(1_000_000);
        shows(at(10), at(a().livePidsOf(1000), inA().uses(0)));

        assertThat(node.performed).hasSize(1);
    }

    /** Whoever breaks now one rule and now another one has still broken rules all the time. */
    @Test
    void theGracePeriodIsThatOfTheProcess() {
        restraint = new Restraint(Duration.ofSeconds(30), Duration.ZERO, null, 0);
        shows(at(0), at(process(1).uses(0)));
        shows(at(10), at(inA().uses(0)));
        shows(at(20), at(process(1).uses(0)));
        shows(at(30), at(inA().uses(0)));

        assertThat(node.performed).hasSize(1);
    }

    @Test
    void theImmuneAreReportedAndLeftAlone() {
        shows(
                at(0),
                host().devices(1)
                        .with(
                                process(1).uses(0).immune(Immunity.Kind.PROTECTED, "it runs /usr/bin/server"),
                                process(2).uses(0).immune(Immunity.Kind.EXEMPT, "it is of uid 1007")));

        assertThat(node.performed).isEmpty();
        assertThat(outcomes()).containsExactlyInAnyOrder("skipped_protected", "skipped_exempt");
        assertThat(journal.find(entry -> entry.active(), 10)).hasSize(2);
    }

    @Test
    void nothingIsDetachedFromTheExempt() {
        limits = new DeviceLimits(0, Map.of());
        shows(at(0), at(a().exempt().attached(0)));

        assertThat(node.performed).isEmpty();
        assertThat(outcomes()).containsExactly("skipped_exempt");
    }
}

package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.policy.DeviceLimits;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A capacity, an owner or a pid that changes in the state: what stood there before counts for a while. */
class StateChangeGraceTest extends GraceFixture {
    @Test
    void aCapacityThatWasLoweredBindsAfterAWhile() {
        shows(at(0), at(a().capacity("4g").attached(0), inA().uses(0, "2000mi")));
        shows(at(10), at(a().capacity("1g").attached(0), inA().uses(0, "2000mi")));
        cycles(69);
        assertThat(node.performed).isEmpty();
        assertThat(onlyChange().before()).isEqualTo("memory capacity 4g");
        assertThat(onlyChange().after()).isEqualTo("memory capacity 1g");

        cycles(70);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void aCapacityThatWasSetWhereThereWasNoneToo() {
        shows(at(0), at(a().attached(0), inA().uses(0, "2000mi")));
        shows(at(10), at(a().capacity("1g").attached(0), inA().uses(0, "2000mi")));
        cycles(69);
        assertThat(node.performed).isEmpty();

        cycles(70);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void whatWasTooMuchBeforeIsTooMuchNow() {
        shows(at(0), at(a().capacity("2g").attached(0)));
        shows(at(10), at(a().capacity("1g").attached(0), inA().uses(0, "4000mi")));

        assertThat(node.performed).hasSize(1);
    }

    /** Whoever lowers it step by step does not cut the time short. */
    @Test
    void whatCountsIsWhatStoodThereBeforeTheFirstStep() {
        shows(at(0), at(a().attached(0), inA().uses(0, "2000mi")));
        shows(at(10), at(a().capacity("1500mi").attached(0), inA().uses(0, "2000mi")));
        shows(at(60), at(a().capacity("1g").attached(0), inA().uses(0, "2000mi")));
        cycles(69);
        assertThat(node.performed).isEmpty();

        cycles(70);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void aLaterStepHasATimeOfItsOwn() {
        shows(at(0), at(a().attached(0), inA().uses(0, "2000mi")));
        shows(at(10), at(a().capacity("4g").attached(0), inA().uses(0, "2000mi")));
        cycles(80);
        shows(at(90), at(a().capacity("1g").attached(0), inA().uses(0, "2000mi")));
        cycles(149);
        assertThat(node.performed).isEmpty();

        cycles(150);
        assertThat(node.performed).hasSize(1);
    }

    /** Somebody writes raz's name over carol's: nothing of hers is taken for raz' quota before people can see it. */
    @Test
    void anEnvironmentThatChangedHandsPaysNobodysQuotaForAWhile() {
        limits = new DeviceLimits(1, Map.of());
        var raz = env("b").attached(1);
        var razs = process(2).in("b").uses(1);
        shows(
                at(0),
                host().devices(2)
                        .with(a().user("carol").uid(1003).attached(0), raz)
                        .with(inA().uses(0), razs));
        shows(
                at(10),
                host().devices(2)
                        .with(a().attached(0), raz)
                        .with(inA().uid(1003).uses(0), razs));
        cycles(69);
        assertThat(node.performed).isEmpty();

        cycles(70);
        assertThat(node.performed).isNotEmpty();
        assertThat(onlyChange().before()).isEqualTo("user carol of uid 1003");
    }

    /** genv's SDK sets the id where nobody can see it; that an environment lists the pid is all that protects it. */
    @Test
    void aPidThatWasStruckOutIsMissedForAWhile() {
        shows(at(0), at(a().pids(7).attached(0), process(7).membershipUnknown().uses(0)));
        shows(at(10), at(a().attached(0), process(7).uses(0)));
        cycles(69);
        assertThat(node.performed).isEmpty();

        cycles(70);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void withoutPatienceTheChangeIsToldAllTheSame() {
        restraint = Restraint.NONE;
        shows(at(0), at(a().attached(0), inA().uses(0)));
        shows(at(10), at(a(), inA().uses(0)));

        assertThat(node.performed).hasSize(1);
        assertThat(onlyEntry().change()).isNotNull();
    }
}

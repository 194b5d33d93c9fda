package dev.genv.enforcer.enforcement.safeguard.grace;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.action.SafetyLimits;
import dev.genv.enforcer.policy.definition.Limits;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A capacity, an owner or a pid that changes in the state: what stood there before counts for a while. */
class StateChangeGraceTest extends GraceFixture {
    @Test
    void loweredCapacityGetsStateChangeGrace() {
        observe(at(0), at(a().capacity("4g").attached(0), inA().uses(0, "2000mi")));
        observe(at(10), at(a().capacity("1g").attached(0), inA().uses(0, "2000mi")));
        runCycles(69);
        assertThat(node.executed).isEmpty();
        assertThat(onlyChange().before()).isEqualTo("memory capacity 4g");
        assertThat(onlyChange().after()).isEqualTo("memory capacity 1g");

        runCycles(70);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void newCapacityGetsStateChangeGrace() {
        observe(at(0), at(a().attached(0), inA().uses(0, "2000mi")));
        observe(at(10), at(a().capacity("1g").attached(0), inA().uses(0, "2000mi")));
        runCycles(69);
        assertThat(node.executed).isEmpty();

        runCycles(70);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void usageAboveTheFormerCapacityGetsNoGrace() {
        observe(at(0), at(a().capacity("2g").attached(0)));
        observe(at(10), at(a().capacity("1g").attached(0), inA().uses(0, "4000mi")));

        assertThat(node.executed).hasSize(1);
    }

    /** Several reductions of the capacity do not shorten the grace. */
    @Test
    void graceOfSeveralCapacityStepsStartsAtTheFirst() {
        observe(at(0), at(a().attached(0), inA().uses(0, "2000mi")));
        observe(at(10), at(a().capacity("1500mi").attached(0), inA().uses(0, "2000mi")));
        observe(at(60), at(a().capacity("1g").attached(0), inA().uses(0, "2000mi")));
        runCycles(69);
        assertThat(node.executed).isEmpty();

        runCycles(70);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void capacityStepAfterHarmlessOneGetsItsOwnGrace() {
        observe(at(0), at(a().attached(0), inA().uses(0, "2000mi")));
        observe(at(10), at(a().capacity("4g").attached(0), inA().uses(0, "2000mi")));
        runCycles(80);
        observe(at(90), at(a().capacity("1g").attached(0), inA().uses(0, "2000mi")));
        runCycles(149);
        assertThat(node.executed).isEmpty();

        runCycles(150);
        assertThat(node.executed).hasSize(1);
    }

    /** Another user replaces carol's name by raz's: no device of carol is detached for raz's quota before the change is reported. */
    @Test
    void ownerChangeGetsStateChangeGraceForTheQuota() {
        limits = new Limits(1, Map.of());
        var raz = env("b").attached(1);
        var razs = process(2).inEnvironment("b").uses(1);
        observe(
                at(0),
                host().devices(2)
                        .with(a().user("carol").uid(1003).attached(0), raz)
                        .with(inA().uses(0), razs));
        observe(
                at(10),
                host().devices(2)
                        .with(a().attached(0), raz)
                        .with(inA().uid(1003).uses(0), razs));
        runCycles(69);
        assertThat(node.executed).isEmpty();

        runCycles(70);
        assertThat(node.executed).isNotEmpty();
        assertThat(onlyChange().before()).isEqualTo("user carol of uid 1003");
    }

    /** genv's SDK sets the id inside the process, so only the pid in the environment's list shows its membership. */
    @Test
    void delistedPidGetsStateChangeGrace() {
        observe(
                at(0),
                at(a().pids(7).attached(0), process(7).membershipUnknown().uses(0)));
        observe(at(10), at(a().attached(0), process(7).uses(0)));
        runCycles(69);
        assertThat(node.executed).isEmpty();

        runCycles(70);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void stateChangeIsReportedWithoutGrace() {
        safetyLimits = SafetyLimits.NONE;
        observe(at(0), at(a().attached(0), inA().uses(0)));
        observe(at(10), at(a(), inA().uses(0)));

        assertThat(node.executed).hasSize(1);
        assertThat(onlyEntry().change()).isNotNull();
    }
}

package dev.genv.enforcer.enforcement.safeguard.grace;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A process that is not listed, and names an environment that is not active. */
class UnlistedGraceTest extends GraceFixture {
    @BeforeEach
    void turnOffTheRuleOfListedProcesses() {
        off.add(KnownRules.INACTIVE_ENV_PROCESSES);
    }

    private static HostBuilder unlistedInA() {
        return host().devices(2).withUnlisted(inA().uses(0));
    }

    private static HostBuilder unlistedInA(EnvBuilder environment) {
        return unlistedInA().with(environment);
    }

    @Test
    void endOfItsEnvironmentHasTheStateChangeGrace() {
        observe(at(0), unlistedInA(a().attached(0)));
        observe(at(10), unlistedInA());
        runCycles(69);
        assertThat(node.executed).isEmpty();
        assertThat(onlyChange().before()).isEqualTo("the environment was active");
        assertThat(onlyChange().after()).isEqualTo("it is not");

        runCycles(70);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void idThatNeverNamedAnEnvironmentHasNoGrace() {
        node.setTicks(1_000_000);
        observe(at(0), host().devices(2));
        node.setTicks(1_001_000);
        observe(
                at(10),
                host().devices(2)
                        .withUnlisted(process(1)
                                .inEnvironment("made up")
                                .startedLaterBy(10_000)
                                .uses(0)));
        assertThat(node.executed).hasSize(1);
    }

    /** Otherwise a user could first start a process, and then add its environment. */
    @Test
    void environmentThatAppearedLaterGivesOnlyTheGrace() {
        observe(at(0), unlistedInA());
        observe(at(10), unlistedInA(a().livePidsOf(1000)));
        runCycles(1000);
        assertThat(node.executed).hasSize(1);
    }
}

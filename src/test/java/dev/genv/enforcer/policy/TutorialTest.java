package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.Plans.enforce;
import static dev.genv.enforcer.testsupport.builder.Plans.enforcingPolicy;
import static dev.genv.enforcer.testsupport.builder.Plans.lines;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.testsupport.KnownRules;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What the tutorial of genv's own enforcement shows, step by step, in the words that it shows. */
class TutorialTest {

    @Test
    void processOutsideAllEnvironmentsIsTerminated() {
        var fleet = host().devices(1).with(process(63600).uses(0, "7295mi")).fleet();
        assertThat(lines(enforce(fleet, KnownRules.NON_ENV_PROCESSES)))
                .containsExactly(
                        "Process 63600 is not running in a GPU environment",
                        "Terminating process 63600 from environment N/A that is running on GPU(s) 0");
    }

    @Test
    void processInEnvironmentWithAttachedDeviceIsNotTerminated() {
        assertThat(enforce(activated(), KnownRules.NON_ENV_PROCESSES)).isEqualTo(Plan.EMPTY);
        assertThat(enforce(activated(), KnownRules.all())).isEqualTo(Plan.EMPTY);
    }

    @Test
    void limitOfOneAllowsOneDevice() {
        assertThat(devicesPerUser(1, activated())).isEqualTo(Plan.EMPTY);
    }

    @Test
    void limitOfZeroDetachesTheDevice() {
        assertThat(lines(devicesPerUser(0, activated())))
                .containsExactly(
                        "User raz is using 1 devices which is 1 more than the maximum allowed",
                        "Terminating process 67708 from environment 67609 that is running on GPU(s) 0",
                        "Detaching environment 67609 of user raz from device 0");
    }

    @Test
    void detachedEnvironmentKeepsTheLimit() {
        var detached = host().devices(1).with(env("67609")).fleet();
        assertThat(devicesPerUser(0, detached)).isEqualTo(Plan.EMPTY);
    }

    private static Fleet activated() {
        return host().devices(1)
                .with(env("67609").attached(0))
                .with(process(67708).inEnvironment("67609").uses(0, "7295mi"))
                .fleet();
    }

    private static Plan devicesPerUser(int limit, Fleet fleet) {
        return enforcingPolicy(new Limits(limit, Map.of()), KnownRules.MAX_DEVICES_PER_USER)
                .check(fleet, Set.of());
    }
}

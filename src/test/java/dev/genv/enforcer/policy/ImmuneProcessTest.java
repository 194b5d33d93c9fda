package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.Plans.enforce;
import static dev.genv.enforcer.testsupport.builder.Plans.terminatedPids;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.testsupport.KnownRules;
import java.util.List;
import org.junit.jupiter.api.Test;

class ImmuneProcessTest {
    /** The process keeps its memory, so another one is terminated, or none. */
    @Test
    void immuneProcessIsNotTerminatedForMemory() {
        var server = process(1).inEnvironment("a").uses(0, "900mi").immune(Immunity.Kind.PROTECTED, "so");
        var job = process(2).inEnvironment("a").uses(0, "200mi");
        var environment = env("a").capacity("1000mi").attached(0);

        assertThat(terminatedForMemory(
                        host().devices(1).with(environment).with(server, job).fleet()))
                .containsExactly(2);
        assertThat(terminatedForMemory(host().devices(1)
                        .with(env("a").capacity("100mi").attached(0))
                        .with(server)
                        .fleet()))
                .isEmpty();
    }

    @Test
    void immuneProcessSelectedByAnotherRuleFreesNoMemory() {
        var plan = enforce(
                host().devices(2)
                        .with(env("a").capacity("1000mi").attached(0))
                        .with(
                                process(1)
                                        .inEnvironment("a")
                                        .uses(0, "900mi")
                                        .uses(1)
                                        .immune(Immunity.Kind.EXEMPT, "so"),
                                process(2).inEnvironment("a").uses(0, "200mi"))
                        .fleet(),
                KnownRules.ENV_DEVICES,
                KnownRules.ENV_MEMORY);

        assertThat(plan.actions())
                .filteredOn(planned -> planned.rules().contains(KnownRules.ENV_MEMORY))
                .extracting(planned ->
                        ((Action.Terminate) planned.action()).process().pid())
                .containsExactly(2);
    }

    private static List<Integer> terminatedForMemory(Fleet fleet) {
        return terminatedPids(enforce(fleet, KnownRules.ENV_MEMORY));
    }
}

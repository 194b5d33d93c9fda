package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.Plans.enforcingPolicy;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.util.Map;
import java.util.Set;

/** Fleets in which the user raz holds more devices than allowed, and their plans. */
final class SurplusPlans {
    static final String OLD = "01/01/2026 00:00:00";
    static final String NEW = "31/12/2026 00:00:00";

    private SurplusPlans() {}

    static Fleet withAppearance(Fleet fleet, String eid, int device) {
        return fleet.with(new Appearances(Map.of(new Appearances.Key("here", eid, device), 1L), false));
    }

    static HostBuilder hostWithBusyNewerDevice() {
        return host().devices(2)
                .with(env("a").attachedAt(OLD, 0), env("b").attachedAt(NEW, 1))
                .with(process(1).inEnvironment("b").uses(1));
    }

    static Plan planWithSurplusOfOne(Fleet fleet, int held) {
        return planWithSurplus(1, fleet, held);
    }

    static Plan planWithSurplus(int surplus, Fleet fleet, int held) {
        var limits = new Limits(null, Map.of("raz", held - surplus));
        return enforcingPolicy(limits, KnownRules.MAX_DEVICES_PER_USER).check(fleet, Set.of());
    }
}

package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;

import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.enforcement.record.ViolationRecord;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.fake.NoStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Enforcers, and what they report. */
abstract class EnforcerFixture {
    final FakeTime time = new FakeTime();
    final ViolationRegistry registry = new ViolationRegistry(10);
    final List<CycleReport> reports = new ArrayList<>();
    Limits limits = Limits.NONE;
    Duration observationTimeout = HANG;

    List<ViolationRecord> all() {
        return registry.find(entry -> true, 100);
    }

    static String problem(Enforcer enforcer) {
        return enforcer.runCycle().orElseThrow().fleet().snapshots().stream()
                .filter(host -> !host.isReached())
                .findFirst()
                .orElseThrow()
                .problems()
                .getFirst()
                .detail();
    }

    Enforcer enforcer(ServiceMode mode, FakeHost... hosts) {
        return enforcer(mode, true, hosts);
    }

    Enforcer enforcer(ServiceMode mode, boolean signals, FakeHost... hosts) {
        return EnforcerFactory.create(
                setup(mode, signals, hosts).build(), NoStore.records(registry), time.ticker(), List.of(reports::add));
    }

    EnforcerConfigBuilder setup(ServiceMode mode, boolean signals, FakeHost... hosts) {
        return EnforcerConfigBuilder.enforcerConfig(hosts)
                .rules(
                        Map.of(
                                KnownRules.NON_ENV_PROCESSES, RuleMode.ENFORCE,
                                KnownRules.ENV_MEMORY, RuleMode.ENFORCE,
                                KnownRules.MAX_DEVICES_PER_USER, RuleMode.ENFORCE),
                        limits)
                .mode(mode)
                .signals(signals)
                .observationTimeout(observationTimeout);
    }
}

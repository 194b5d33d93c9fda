package dev.genv.enforcer.enforcement.action;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.fake.NoStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A host with processes, and an enforcer that terminates them. */
abstract class TerminationFixture {
    static final Duration KILL_AFTER = Duration.ofSeconds(30);

    final FakeTime time = new FakeTime();
    final ViolationRegistry registry = new ViolationRegistry(10);
    final FakeHost node = new FakeHost(stray());
    final List<Host> hosts = new ArrayList<>(List.of(node));
    Enforcer enforcer = killingAfter(KILL_AFTER);

    CycleReport runCycles(int... seconds) {
        CycleReport last = null;
        for (var second : seconds) {
            time.passTo(Duration.ofSeconds(second));
            last = enforcer.runCycle().orElseThrow();
        }
        assertThat(last).isNotNull();
        return last;
    }

    List<String> signals() {
        return node.executed.stream()
                .map(Action.Terminate.class::cast)
                .map(action -> action.process().pid() + " " + action.signal())
                .toList();
    }

    List<String> outcomes() {
        return registry.find(entry -> true, 10).stream()
                .flatMap(entry -> entry.actions().stream())
                .map(note -> note.signal() + " " + note.outcome().label())
                .toList();
    }

    static HostBuilder stray() {
        return host().devices(1).with(process(1).uses(0));
    }

    static HostBuilder empty() {
        return host().devices(1);
    }

    Enforcer killingAfter(@Nullable Duration killAfter) {
        return enforcer(new SafetyLimits(Duration.ZERO, killAfter, 0));
    }

    Enforcer enforcer(SafetyLimits safetyLimits) {
        var modes = Map.of(KnownRules.NON_ENV_PROCESSES, RuleMode.ENFORCE, KnownRules.ENV_MEMORY, RuleMode.ENFORCE);
        var config = EnforcerConfigBuilder.enforcerConfig(() -> List.copyOf(hosts))
                .rules(modes, Limits.NONE)
                .safetyLimits(safetyLimits)
                .build();
        return EnforcerFactory.create(config, NoStore.records(registry), time.ticker(), List.of());
    }
}

package dev.genv.enforcer.enforcement.forecast;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.action.SafetyLimits;
import dev.genv.enforcer.enforcement.action.ServiceMode;
import dev.genv.enforcer.enforcement.violation.ViolationRecord;
import dev.genv.enforcer.enforcement.violation.ViolationRegistry;
import dev.genv.enforcer.policy.definition.Limits;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.definition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A node with one enforcer, and what the records of its violations announce. */
abstract class ForecastFixture {
    static final Duration NONE = Duration.ZERO;

    final FakeTime time = new FakeTime();
    final ViolationRegistry registry = new ViolationRegistry(10);
    final FakeHost node = new FakeHost(stray(1));
    final Map<RuleDefinition, RuleMode> modes = new HashMap<>(Arrays.stream(KnownRules.all())
            .filter(rule -> !rule.equals(KnownRules.ENV_OWNER))
            .collect(Collectors.toMap(Function.identity(), _ -> RuleMode.ENFORCE)));
    ServiceMode mode = ServiceMode.ENFORCE;
    Limits limits = Limits.NONE;
    SafetyLimits safety = new SafetyLimits(NONE, NONE, Duration.ofSeconds(30), 0);
    private @Nullable Enforcer enforcer;

    static HostBuilder stray(int pid) {
        return host().devices(1).with(stray(pid, 0));
    }

    private static GpuProcessBuilder stray(int pid, int device) {
        return process(pid).uses(device);
    }

    void runCycle(int second) {
        var running = enforcer == null ? enforcer() : enforcer;
        enforcer = running;
        time.passTo(Duration.ofSeconds(second));
        assertThat(running.runCycle()).isPresent();
    }

    private Enforcer enforcer() {
        var config = EnforcerConfigBuilder.enforcerConfig(node)
                .rules(modes, limits)
                .mode(mode)
                .safetyLimits(safety)
                .build();
        return new Enforcer(config, registry, time.ticker(), List.of());
    }

    List<ViolationRecord> active() {
        return registry.find(ViolationRecord::active, 10);
    }

    /** The announcements of all active violations, with their times in seconds from the start. */
    List<String> next() {
        return active().stream()
                .flatMap(entry -> entry.next().stream())
                .map(action -> {
                    var seconds =
                            Duration.between(FakeTime.START, action.notBefore()).toSeconds();
                    var target = action.target();
                    return target.processId() == null
                            ? "%s %s %d %d %s"
                                    .formatted(
                                            target.type(),
                                            target.detached(),
                                            target.detachedFrom(),
                                            seconds,
                                            action.because().label())
                            : "%s %d %s %d %s"
                                    .formatted(
                                            target.type(),
                                            target.processId(),
                                            action.signal(),
                                            seconds,
                                            action.because().label());
                })
                .toList();
    }
}

package dev.genv.enforcer.enforcement.safeguard.grace;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.action.SafetyLimits;
import dev.genv.enforcer.enforcement.violation.ViolationRegistry;
import dev.genv.enforcer.policy.definition.Limits;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.definition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Two hosts, and a service that is started at the first cycle. */
abstract class StartGraceFixture {
    static final Duration GRACE = Duration.ofSeconds(60);
    static final long AFTER_THE_START = 20_000;

    final FakeTime time = new FakeTime();
    final ViolationRegistry registry = new ViolationRegistry(100);
    final FakeHost node = new FakeHost(host());
    final FakeHost other = new FakeHost(host("other"));
    final Set<RuleDefinition> off = new HashSet<>(Set.of(KnownRules.ENV_OWNER));
    Limits limits = Limits.NONE;
    Duration grace = GRACE;
    Duration interval = Duration.ofDays(1);

    @Nullable
    Enforcer enforcer;

    static HostBuilder hostWith(GpuProcessBuilder... processes) {
        return host().devices(2).with(processes);
    }

    static HostBuilder hostWith(EnvBuilder environment, GpuProcessBuilder... processes) {
        return hostWith(processes).with(environment);
    }

    static EnvBuilder a() {
        return env("a");
    }

    void observe(int second, HostBuilder host) {
        node.setSnapshot(host);
        runCycles(second);
    }

    void runCycles(int... seconds) {
        var running = enforcer == null ? enforcer() : enforcer;
        enforcer = running;
        for (var second : seconds) {
            time.passTo(Duration.ofSeconds(second));
            assertThat(running.runCycle()).isPresent();
        }
    }

    Enforcer enforcer() {
        var modes = Arrays.stream(KnownRules.all())
                .filter(rule -> !off.contains(rule))
                .collect(Collectors.toMap(Function.identity(), _ -> RuleMode.ENFORCE));
        var config = EnforcerConfigBuilder.enforcerConfig(node, other)
                .remote(true)
                .interval(interval)
                .rules(modes, limits)
                .safetyLimits(new SafetyLimits(Duration.ZERO, grace, null, 0))
                .build();
        return new Enforcer(config, registry, time.ticker(), List.of());
    }
}

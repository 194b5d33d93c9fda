package dev.genv.enforcer.telemetry;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.fake.NoStore;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The counters and gauges of violations and actions after complete cycles. */
class ActionMetricsTest {
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final FakeTime time = new FakeTime();
    private final FakeHost node = new FakeHost(hostWithStray());
    private final ViolationRegistry violations = new ViolationRegistry(10);
    private final Enforcer enforcer = EnforcerFactory.create(
            EnforcerConfigBuilder.enforcerConfig(node)
                    .rules(
                            Map.of(
                                    KnownRules.NON_ENV_PROCESSES, RuleMode.ENFORCE,
                                    KnownRules.ENV_DEVICES, RuleMode.AUDIT,
                                    KnownRules.MAX_DEVICES_PER_USER, RuleMode.ENFORCE),
                            new Limits(1, Map.of()))
                    .safetyLimits(new SafetyLimits(Duration.ZERO, Duration.ofSeconds(30), 0))
                    .build(),
            NoStore.records(violations),
            time.ticker(),
            List.of(new CycleMetrics(registry, violations)));

    @Test
    void countsTerminationsByRuleSignalAndOutcome() {
        cycle(0);
        cycle(10);
        assertThat(terminations("TERM", "signalled")).as("it is asked once").isEqualTo(1);
        cycle(30);
        assertThat(terminations("KILL", "signalled")).isEqualTo(1);
        assertThat(violations("non-env-processes", "enforce")).isEqualTo(1);
        node.setSnapshot(host().devices(2)).setExited(process(1).build().id());
        cycle(31);

        assertThat(terminations("KILL", "exited")).isEqualTo(1);
        assertThat(violations("non-env-processes", "enforce")).isZero();
        assertThat(violationsTotal("non-env-processes", "enforce")).isEqualTo(1);
    }

    @Test
    void countsSkippedActionsByReason() {
        node.setSnapshot(host().devices(2)
                .with(env("a").attached(0))
                .with(
                        process(1).inEnvironment("a").uses(1),
                        process(2).uses(0).immune(Immunity.Kind.PROTECTED, "it runs the screen")));
        cycle(0);
        cycle(10);

        assertThat(registry.get("genv.enforcer.skipped")
                        .tag("reason", "audit")
                        .counter()
                        .count())
                .isEqualTo(2);
        assertThat(registry.get("genv.enforcer.skipped")
                        .tag("reason", "protected")
                        .counter()
                        .count())
                .isEqualTo(2);
        assertThat(violations("env-devices", "audit")).isEqualTo(1);
    }

    @Test
    void countsDetachments() {
        node.setSnapshot(host().devices(2).with(env("a").attached(0, 1)));
        cycle(0);

        assertThat(registry.get("genv.enforcer.detachments")
                        .tag("outcome", "detached")
                        .counter()
                        .count())
                .isEqualTo(1);
    }

    private void cycle(long atSecond) {
        time.passTo(Duration.ofSeconds(atSecond));
        enforcer.runCycle();
    }

    private double terminations(String signal, String outcome) {
        return registry.get("genv.enforcer.terminations")
                .tag("rule", "non-env-processes")
                .tag("signal", signal)
                .tag("outcome", outcome)
                .counter()
                .count();
    }

    private double violations(String rule, String mode) {
        return value("genv.enforcer.active.violations", rule, mode);
    }

    private double violationsTotal(String rule, String mode) {
        return value("genv.enforcer.violations", rule, mode);
    }

    private double value(String name, String rule, String mode) {
        return registry.get(name)
                .tag("rule", rule)
                .tag("mode", mode)
                .meter()
                .measure()
                .iterator()
                .next()
                .getValue();
    }

    private static HostBuilder hostWithStray() {
        return host().devices(2).with(process(1).uses(0));
    }
}

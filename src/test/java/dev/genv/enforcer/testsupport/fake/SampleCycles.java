package dev.genv.enforcer.testsupport.fake;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;

import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.report.DeliveryCursors;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.notification.NoticeFixture;
import dev.genv.enforcer.notification.Outbox;
import dev.genv.enforcer.notification.TerminalSender;
import dev.genv.enforcer.notification.TerminalSender.Terminals;
import dev.genv.enforcer.notification.UserDirectory;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.telemetry.CycleMetrics;
import dev.genv.enforcer.telemetry.HostMetrics;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import io.micrometer.core.instrument.MeterRegistry;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Cycles that register every metric of hosts and actions: some metrics are registered only with their first value. */
public final class SampleCycles {
    private SampleCycles() {}

    /** Records the figures of a delivery, a termination, a detachment, a skipped action, a missing privilege and an unreachable host. */
    public static void record(MeterRegistry registry) {
        var sender = new TerminalSender(
                NoticeFixture.texts(new UserDirectory(false)), Terminals.of(Path.of("/proc")), "gpu-1");
        var _ = new Outbox(sender, new DeliveryCursors(), Ticker.ofSystem(), () -> 0, registry);
        var node = new FakeHost(host().devices(2)
                        .with(env("a").attached(0, 1))
                        .with(process(1).uses(0), process(2).inEnvironment("a").uses(0)))
                .setMissingPrivileges("KILL");
        var enforcing = EnforcerConfigBuilder.enforcerConfig(node)
                .rules(
                        Map.of(
                                KnownRules.NON_ENV_PROCESSES, RuleMode.ENFORCE,
                                KnownRules.MAX_DEVICES_PER_USER, RuleMode.ENFORCE),
                        new Limits(1, Map.of()))
                .build();
        var gone = new FakeHost(host("gone")).observeWith(() -> {
            throw new UnreachableException(ProblemCode.HOST_UNREACHABLE, "refused");
        });
        var auditing = EnforcerConfigBuilder.enforcerConfig(node, gone)
                .rules(Map.of(KnownRules.NON_ENV_PROCESSES, RuleMode.AUDIT), Limits.NONE)
                .build();
        for (var config : List.of(enforcing, auditing)) {
            EnforcerFactory.create(
                            config,
                            NoStore.records(new ViolationRegistry(10)),
                            Ticker.ofSystem(),
                            List.of(new CycleMetrics(registry, new ViolationRegistry(10)), new HostMetrics(registry)))
                    .runCycle();
        }
    }
}

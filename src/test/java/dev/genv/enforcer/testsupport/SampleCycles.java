package dev.genv.enforcer.testsupport;

import static dev.genv.enforcer.testsupport.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.HostBuilder.host;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.enforcement.journal.Journal;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.DeviceLimits;
import dev.genv.enforcer.policy.plan.RuleMode;
import dev.genv.enforcer.policy.plan.RuleName;
import dev.genv.enforcer.telemetry.ActionMetrics;
import dev.genv.enforcer.telemetry.HostMetrics;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.List;
import java.util.Map;

/** Cycles after which every metric of hosts and actions exists: some are registered only when they have a value. */
public final class SampleCycles {
    private SampleCycles() {}

    /** Records a termination, a detachment, a skipped action, a missing privilege and an unreachable host. */
    public static void record(MeterRegistry registry) {
        var node = new FakeHost(host().devices(2)
                        .with(env("a").attached(0, 1))
                        .with(process(1).uses(0), process(2).inEnvironment("a").uses(0)))
                .setMissingPrivileges("KILL");
        var enforcing = SetupBuilder.setup(node)
                .rules(
                        Map.of(
                                RuleName.NON_ENV_PROCESSES, RuleMode.ENFORCE,
                                RuleName.MAX_DEVICES_PER_USER, RuleMode.ENFORCE),
                        new DeviceLimits(1, Map.of()))
                .build();
        var gone = new FakeHost(host("gone")).observeWith(() -> {
            throw new UnreachableException(ProblemCode.HOST_UNREACHABLE, "refused");
        });
        var auditing = SetupBuilder.setup(node, gone)
                .rules(Map.of(RuleName.NON_ENV_PROCESSES, RuleMode.AUDIT), DeviceLimits.NONE)
                .build();
        for (var setup : List.of(enforcing, auditing)) {
            new Enforcer(
                            setup,
                            new Journal(10),
                            Ticker.ofSystem(),
                            List.of(new ActionMetrics(registry)::record, new HostMetrics(registry)::record))
                    .runCycle();
        }
    }
}

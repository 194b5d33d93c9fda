package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.History.Enforcement;
import dev.genv.enforcer.enforcement.host.Order;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.observation.Listings;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Every safeguard applies to the same actions; the test removes one after the other. */
class SafeguardsTest {
    private static final Duration GRACE = Duration.ofSeconds(60);

    private final FakeTime time = new FakeTime();
    private final FakeHost node = new FakeHost(host().devices(1)).setTicks(100);
    private final List<String> skips = new ArrayList<>();

    private ServiceMode mode = ServiceMode.AUDIT;
    private RuleMode ruleMode = RuleMode.AUDIT;
    private boolean signals;
    private final Set<RuleDefinition> enforced = new HashSet<>(Set.of(KnownRules.ENV_DEVICES));
    private Duration gracePeriod = GRACE;
    private boolean isStopped = true;

    @Test
    void theFirstSafeguardThatAppliesGivesTheReason() {
        node.readOnly("another enforcer acts here");
        screen(job().immune(Immunity.Kind.PROTECTED, "it is protected"));
        screen(job());
        mode = ServiceMode.ENFORCE;
        screen(job());
        node.readOnly(null);
        screen(job());
        ruleMode = RuleMode.ENFORCE;
        screen(job());
        signals = true;
        screen(job());
        enforced.add(KnownRules.INACTIVE_ENV_PROCESSES);
        screen(job());
        gracePeriod = Duration.ZERO;
        screen(job());
        isStopped = false;
        screen(job(), process(2).inEnvironment("a").uses(0));

        assertThat(skips)
                .containsExactly(
                        "1 skipped_protected it is protected",
                        "1 skipped_audit the service only audits",
                        "1 skipped_audit another enforcer acts here",
                        "1 skipped_audit the rule only audits",
                        "1 skipped_audit GENV_TERMINATE_PROCESSES is 0",
                        "1 skipped_protected the process is older than the entry of environment a",
                        "1 skipped_grace it has not yet lasted 60 s",
                        "1 failed the service is being stopped",
                        "1 run",
                        "2 skipped_limit the limit of 1 terminations in one cycle is reached: it waits for the next"
                                + " cycle");
    }

    /** A process that is older than the environment that it names. */
    private static GpuProcessBuilder job() {
        return process(1).inEnvironment("a").uses(0);
    }

    private void screen(GpuProcessBuilder... processes) {
        var enforcement = new Enforcement(enforced::contains, signals, gracePeriod);
        var safeguards = new Safeguards(mode, enforcement, 1, time.ticker());
        if (isStopped) {
            safeguards.stop();
        }
        var history = new History(enforcement, Duration.ofSeconds(10), time.ticker());
        // The environment appears only in the second observation.
        history.record(observe(host().devices(1), 1_000_000_000), _ -> Listings.NONE);
        var second = host().devices(1).with(env("a")).with(processes);
        var fleet = history.record(observe(second, 1_000_001_000), _ -> Listings.NONE);
        var policy = KnownRules.policy(Map.of(KnownRules.ENV_DEVICES, ruleMode), Limits.NONE);
        var plan = policy.check(fleet, Set.of());
        history.record(plan);
        var orders = safeguards.screen(plan.actions(), fleet, history);
        for (var order : orders) {
            skips.add(pid(order.planned())
                    + switch (order) {
                        case Order.Run _ -> " run";
                        case Order.Hold hold ->
                            " " + hold.result().outcome().label() + " "
                                    + hold.result().detail();
                    });
        }
    }

    private Fleet observe(HostBuilder host, long ticks) {
        var snapshot = node.setSnapshot(host).setTicks(ticks).observe();
        return new Fleet(List.of(snapshot), false, time.ticker().now());
    }

    private static int pid(PlannedAction planned) {
        return planned.action() instanceof Action.Terminate terminate
                ? terminate.process().pid()
                : 0;
    }
}

package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.genv.enforcer.enforcement.History.Enforcement;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.observation.Listings;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What is remembered of a host. A cycle every ten seconds, with a process that uses a device of no environment. */
class HistoryTest {
    private static final Duration INTERVAL = Duration.ofSeconds(10);

    private final FakeTime time = new FakeTime();
    private final FakeHost node = new FakeHost(host()).setMachine("machine boot");
    private final Enforcement enforcement =
            new Enforcement(KnownRules.ENV_DEVICES::equals, true, Duration.ofSeconds(30));
    private final History history = new History(enforcement, INTERVAL, time.ticker());
    private long ticks = 1_000_000;

    @Test
    void rebootBeginsAnew() {
        for (var cycle = 0; cycle < 4; cycle++) {
            cycle(broken());
        }
        node.setMachine("machine another boot");
        assertThat(cycle(broken())).contains(Duration.ofSeconds(30));
    }

    @Test
    void rebootOfAMachineWithoutAnIdBeginsAnew() {
        node.setMachine(null);
        for (var cycle = 0; cycle < 4; cycle++) {
            cycle(broken());
        }
        ticks = 1000;
        assertThat(cycle(broken())).contains(Duration.ofSeconds(30));
    }

    /** Otherwise all environments would appear when the host counts again, and shield what runs in them. */
    @Test
    void duplicateHostHasNoPicture() {
        cycle(host().devices(1).with(env("a")));
        observe(node.setSnapshot(host().devices(1))
                .observe()
                .withProblems(List.of(new Problem(ProblemCode.DUPLICATE_HOST, "it is another name of a machine"))));
        ticks += 1000;
        assertThat(cycle(broken())).as("not shielded").contains(Duration.ofSeconds(30));
    }

    @Test
    void planIsRecordedOnce() {
        observe(snapshot(broken()));
        history.record(Plan.EMPTY);
        assertThatIllegalStateException().isThrownBy(() -> history.record(Plan.EMPTY));
    }

    private static HostBuilder broken() {
        return host().devices(1)
                .with(env("a"))
                .with(process(1).inEnvironment("a").uses(0));
    }

    /** Returns how long the termination of the process must wait; empty if it may be executed. */
    private Optional<Duration> cycle(HostBuilder now) {
        var fleet = observe(snapshot(now));
        var policy = KnownRules.policy(Map.of(KnownRules.ENV_DEVICES, RuleMode.ENFORCE), Limits.NONE);
        var plan = policy.check(fleet, Set.of());
        history.record(plan);
        var left = plan.actions().stream().findFirst().flatMap(this::left);
        time.pass(INTERVAL);
        ticks += 1000;
        return left;
    }

    private Optional<Duration> left(PlannedAction planned) {
        var delay = history.delay(planned.causes().getFirst(), planned.action());
        delay.ifPresent(its -> assertThat(its.left()).as("not shielded").isPresent());
        return delay.flatMap(History.Delay::left);
    }

    private Snapshot snapshot(HostBuilder now) {
        return node.setSnapshot(now).setTicks(ticks).observe();
    }

    private Fleet observe(Snapshot snapshot) {
        return history.record(new Fleet(List.of(snapshot), false), _ -> Listings.NONE);
    }
}

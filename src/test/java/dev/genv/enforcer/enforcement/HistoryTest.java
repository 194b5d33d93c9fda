package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Gate.Enforcement;
import dev.genv.enforcer.enforcement.host.Host.Remembered;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.enforcement.report.SavedState;
import dev.genv.enforcer.enforcement.report.SavedState.SavedCycle;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.observation.AccountReader.KnownAccounts;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.Plans;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

class HistoryTest {
    private static final Duration GRACE = Duration.ofSeconds(60);
    private static final Duration INTERVAL = Duration.ofSeconds(10);

    private final FakeTime time = new FakeTime();
    private final FakeHost first = stray("first").setMachine("first boot-1").setTicks(1_000_000);
    private final FakeHost second = stray("second").setMachine("second boot-1").setTicks(1_000_000);
    private History history = history(ServiceMode.ENFORCE);

    @Test
    void aRebootEndsTheClocksOfItsHostOnly() {
        remember(first.observe(), second.observe());
        var rebooted = first.setMachine("first boot-2").setTicks(10).observe();
        var plan = remember(rebooted, second.observe());
        assertThat(left(plan, "first")).isEqualTo(GRACE);
        assertThat(left(plan, "second")).isEqualTo(GRACE.minus(INTERVAL));
    }

    @Test
    void anAuditSavesNoClocks() {
        remember(first.observe());
        assertThat(history.save().get(History.CLOCKS).values())
                .extracting(Clocks.Clock::uid)
                .as("whose share it is")
                .isNotEmpty()
                .containsOnly(1000L);
        history = history(ServiceMode.AUDIT);
        remember(first.observe());
        assertThat(history.save().get(History.CLOCKS)).isEmpty();
    }

    /** They may be all that protects an exempt user's process until its directory answers again. */
    @Test
    void theAccountsOfAHostOutliveATimeInWhichItIsUnreachable() {
        var known = new Remembered(new KnownAccounts("first boot-1", Map.of(), Map.of(), null));
        history.remember(fleet(first.observe()), _ -> known);
        assertThat(history.remembered("first")).isEqualTo(known);
        var unreachable = Snapshot.unseen("first", new Problem(ProblemCode.HOST_UNREACHABLE, "no answer"));
        history.remember(fleet(unreachable), _ -> Remembered.NOTHING);
        assertThat(history.remembered("first")).isEqualTo(known);
    }

    @Test
    void aRuleThatIsEnforcedAnewActsOnNoTimeInWhichItOnlyAudited() {
        remember(first.observe());
        var saved = history.save();
        restart(saved, _ -> true);
        assertThat(history.save().get(History.CLOCKS)).isEqualTo(saved.get(History.CLOCKS));
        restart(saved, _ -> false);
        assertThat(history.save().get(History.CLOCKS)).isEmpty();
    }

    /** A machine without an id shows it by its clock. */
    @Test
    void aRebootWhileTheServiceIsStoppedEndsTheClocks() {
        first.setMachine(null);
        remember(first.observe());
        restart(history.save(), _ -> true);
        assertThat(left(remember(first.setTicks(10).observe()), "first")).isEqualTo(GRACE);
    }

    /** Continues in another run of the service, which enforces these rules. */
    private void restart(SavedState saved, Predicate<RuleDefinition> enforced) {
        var last = new SavedCycle(0, history.observedAt(), history.ticks(), 0, 0, Instant.EPOCH, Instant.EPOCH, 0);
        history = new History(new Enforcement(ServiceMode.ENFORCE, enforced, true, GRACE), INTERVAL, time.ticker());
        history.restore(saved, last, true);
    }

    private static FakeHost stray(String name) {
        return new FakeHost(host(name).devices(1).with("process 1 on 0"));
    }

    private History history(ServiceMode mode) {
        return new History(new Enforcement(mode, _ -> true, true, GRACE), INTERVAL, time.ticker());
    }

    private Fleet fleet(Snapshot... snapshots) {
        return new Fleet(List.of(snapshots), true, time.ticker().now());
    }

    /** Remembers a cycle in which all violations are in force. */
    private Plan remember(Snapshot... snapshots) {
        var fleet = history.remember(fleet(snapshots), _ -> Remembered.NOTHING);
        var plan =
                Plans.enforcingPolicy(Limits.NONE, KnownRules.NON_ENV_PROCESSES).check(fleet, Set.of());
        history.remember(plan, (_, _) -> true);
        time.pass(INTERVAL);
        return plan;
    }

    private Duration left(Plan plan, String host) {
        var planned = plan.actions().stream()
                .filter(each -> each.action().host().equals(host))
                .findFirst()
                .orElseThrow();
        return history.left(planned.causes().getFirst(), planned.action(), Set.of());
    }
}

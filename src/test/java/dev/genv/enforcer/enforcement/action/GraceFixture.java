package dev.genv.enforcer.enforcement.action;

import static dev.genv.enforcer.testsupport.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.history.StateChange;
import dev.genv.enforcer.enforcement.journal.Journal;
import dev.genv.enforcer.enforcement.journal.JournalEntry;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.DeviceLimits;
import dev.genv.enforcer.policy.plan.RuleMode;
import dev.genv.enforcer.policy.plan.RuleName;
import dev.genv.enforcer.testsupport.EnvBuilder;
import dev.genv.enforcer.testsupport.FakeHost;
import dev.genv.enforcer.testsupport.FakeTime;
import dev.genv.enforcer.testsupport.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.HostBuilder;
import dev.genv.enforcer.testsupport.SetupBuilder;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A node with one enforcer, whose observations and cycles a test chooses. */
abstract class GraceFixture {
    static final Duration STATE_CHANGE_GRACE = Duration.ofSeconds(60);
    /** When the tests begin: the service has observed the host for so long that it knows its past. */
    static final Duration BEGIN = Duration.ofSeconds(100);

    static final long LONG_AGO = 1;

    final FakeTime time = new FakeTime();
    final Journal journal = new Journal(100);
    final FakeHost node = new FakeHost(host());
    final Set<RuleName> off = EnumSet.of(RuleName.ENV_OWNER); // it never does anything
    DeviceLimits limits = DeviceLimits.NONE;
    SafetyLimits safetyLimits = new SafetyLimits(Duration.ZERO, STATE_CHANGE_GRACE, null, 0);
    private @Nullable Enforcer enforcer;

    static Duration at(int seconds) {
        return Duration.ofSeconds(seconds);
    }

    static HostBuilder at(EnvBuilder environment, GpuProcessBuilder... processes) {
        return host().devices(2).with(environment).with(processes);
    }

    static HostBuilder at(GpuProcessBuilder process) {
        return host().devices(2).with(process);
    }

    static HostBuilder unlisted(EnvBuilder environment) {
        return host().devices(2).unlisted(0).unlisted(1).with(environment).missing(SnapshotPart.PROCESSES);
    }

    static EnvBuilder a() {
        return env("a");
    }

    static GpuProcessBuilder inA() {
        return process(1).inEnvironment("a");
    }

    void observe(Duration when, HostBuilder host) {
        node.setSnapshot(host);
        runCycles((int) when.toSeconds());
    }

    void runCycles(int... seconds) {
        var running = enforcer == null ? enforcer() : enforcer;
        enforcer = running;
        for (var second : seconds) {
            time.passTo(BEGIN.plusSeconds(second));
            assertThat(running.runCycle()).isPresent();
        }
    }

    JournalEntry onlyEntry() {
        var entries = journal.find(JournalEntry::active, 10);
        assertThat(entries).hasSize(1);
        return entries.getFirst();
    }

    StateChange onlyChange() {
        return Objects.requireNonNull(onlyEntry().change());
    }

    List<String> outcomes() {
        return journal.find(entry -> true, 100).stream()
                .flatMap(entry -> entry.actions().stream())
                .map(note -> note.outcome().label())
                .toList();
    }

    private Enforcer enforcer() {
        var modes = Arrays.stream(RuleName.values())
                .filter(rule -> !off.contains(rule))
                .collect(Collectors.toMap(Function.identity(), _ -> RuleMode.ENFORCE));
        var setup = SetupBuilder.setup(node)
                .rules(modes, limits)
                .restraint(safetyLimits)
                .build();
        var made = new Enforcer(setup, journal, time.ticker(), List.of());
        node.observedBefore(LONG_AGO, made::runCycle);
        time.passTo(BEGIN);
        return made;
    }
}

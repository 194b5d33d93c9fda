package dev.genv.enforcer.enforcement.action;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.enforcement.record.ViolationRecord;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.fake.NoStore;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A node with one enforcer, whose observations and cycles a test chooses. */
abstract class GraceFixture {
    static final Duration GRACE = Duration.ofSeconds(30);
    /** When the tests begin: the service has observed the host for so long that it knows its past. */
    static final Duration BEGIN = Duration.ofSeconds(100);

    static final long LONG_AGO = 1;

    final FakeTime time = new FakeTime();
    final ViolationRegistry registry = new ViolationRegistry(100);
    final FakeHost node = new FakeHost(host());
    final Set<RuleDefinition> off = new HashSet<>(Set.of(KnownRules.ENV_OWNER)); // it never does anything
    Limits limits = Limits.NONE;
    /** Whether the service observed an empty host before everything that a test starts. */
    boolean hasObservedBefore = true;

    SafetyLimits safetyLimits = new SafetyLimits(GRACE, null, 0);
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

    ViolationRecord onlyEntry() {
        var entries = registry.find(ViolationRecord::active, 10);
        assertThat(entries).hasSize(1);
        return entries.getFirst();
    }

    List<String> outcomes() {
        return registry.find(entry -> true, 100).stream()
                .flatMap(entry -> entry.actions().stream())
                .map(note -> note.outcome().label())
                .toList();
    }

    private Enforcer enforcer() {
        var modes = Arrays.stream(KnownRules.all())
                .filter(rule -> !off.contains(rule))
                .collect(Collectors.toMap(Function.identity(), _ -> RuleMode.ENFORCE));
        var config = EnforcerConfigBuilder.enforcerConfig(node)
                .rules(modes, limits)
                .safetyLimits(safetyLimits)
                .interval(Duration.ofMinutes(10))
                .build();
        var made = EnforcerFactory.create(config, NoStore.records(registry), time.ticker(), List.of());
        if (hasObservedBefore) {
            node.observedBefore(LONG_AGO, made::runCycle);
        }
        time.passTo(BEGIN);
        return made;
    }
}

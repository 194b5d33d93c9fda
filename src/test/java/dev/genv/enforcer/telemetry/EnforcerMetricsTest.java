package dev.genv.enforcer.telemetry;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.fake.NoStore;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The metrics of hosts, violations and actions after complete cycles, and the labels of those of Quarkus. */
class EnforcerMetricsTest {
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final FakeTime time = new FakeTime();
    private final HostBuilder used = host("gpu-1").devices(2).with("env a on 0", "process 1 in a on 0");
    private final FakeHost first = new FakeHost(used);
    private final FakeHost second = new FakeHost(host("gpu-2"));
    private final List<Host> hosts = new ArrayList<>(List.of(first, second));
    private final ViolationRegistry violations = new ViolationRegistry(10);
    private final Enforcer enforcer = EnforcerFactory.create(
            EnforcerConfigBuilder.enforcerConfig(() -> new ArrayList<>(hosts))
                    .remote(true)
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
            List.of(new HostMetrics(registry), new CycleMetrics(registry, violations)));

    @Test
    void reportsTheStateOfEachHost() {
        first.observeWith(() -> {
            time.pass(Duration.ofMillis(1500));
            return used.snapshot();
        });
        second.observeWith(() -> {
            throw new UnreachableException(ProblemCode.HOST_UNREACHABLE, "refused");
        });
        enforcer.runCycle();
        assertThat(ofHost("up", "gpu-1")).hasValue(1);
        assertThat(ofHost("complete", "gpu-1")).hasValue(1);
        assertThat(ofHost("gpu.processes", "gpu-1")).hasValue(1);
        assertThat(ofHost("devices", "gpu-1")).hasValue(2);
        assertThat(ofHost("environments", "gpu-1")).hasValue(1);
        assertThat(ofHost("observation", "gpu-1")).hasValue(1.5);
        assertThat(ofHost("up", "gpu-2")).hasValue(0);
        assertThat(ofHost("complete", "gpu-2")).hasValue(0);
        assertThat(problem("gpu-2")).hasValue(1);
        assertThat(problem("gpu-1")).isEmpty();

        second.setSnapshot(host("gpu-2"));
        enforcer.runCycle();
        enforcer.runCycle();
        assertThat(ofHost("up", "gpu-2")).hasValue(1);
        assertThat(problem("gpu-2")).isEmpty();
    }

    @Test
    void removesTheSeriesOfARemovedHost() {
        enforcer.runCycle();
        assertThat(ofHost("up", "gpu-2")).hasValue(1);
        hosts.remove(second);
        enforcer.runCycle();
        assertThat(ofHost("up", "gpu-1")).hasValue(1);
        assertThat(ofHost("up", "gpu-2")).isEmpty();
    }

    @Test
    void noHostIsUpAfterAFailedCycle() {
        enforcer.runCycle();
        hosts.add(null); // ends the cycle with an exception
        enforcer.runCycle();
        assertThat(ofHost("up", "gpu-1")).hasValue(0);
        assertThat(ofHost("complete", "gpu-2")).hasValue(0);
        assertThat(ofHost("devices", "gpu-1")).isEmpty();

        hosts.removeLast();
        enforcer.runCycle();
        assertThat(ofHost("up", "gpu-1")).hasValue(1);
        assertThat(ofHost("devices", "gpu-1")).hasValue(2);
    }

    @Test
    void removesTheSeriesOfAGrantedPrivilege() {
        first.setMissingPrivileges("KILL", "SYS_PTRACE");
        second.setMissingPrivileges("KILL");
        enforcer.runCycle();
        assertThat(find("missing.privileges", "privilege", "KILL")).hasValue(2);
        assertThat(find("missing.privileges", "privilege", "SYS_PTRACE")).hasValue(1);

        first.setMissingPrivileges();
        enforcer.runCycle();
        assertThat(find("missing.privileges", "privilege", "KILL")).hasValue(1);
        assertThat(find("missing.privileges", "privilege", "SYS_PTRACE")).isEmpty();
    }

    @Test
    void countsTerminationsByRuleSignalAndOutcome() {
        first.setSnapshot(host("gpu-1").devices(2).with(process(1).uses(0)));
        cycle(0);
        cycle(10);
        assertThat(terminations("TERM", "signalled")).as("it is asked once").hasValue(1);
        cycle(30);
        assertThat(terminations("KILL", "signalled")).hasValue(1);
        assertThat(violations("active.violations", "non-env-processes", "enforce"))
                .hasValue(1);
        first.setSnapshot(host("gpu-1").devices(2)).setExited(process(1).build().id());
        cycle(31);

        assertThat(terminations("KILL", "exited")).hasValue(1);
        assertThat(violations("active.violations", "non-env-processes", "enforce"))
                .hasValue(0);
        assertThat(violations("violations", "non-env-processes", "enforce")).hasValue(1);
    }

    @Test
    void countsDetachmentsAndSkippedActionsByReason() {
        first.setSnapshot(
                host("gpu-1").devices(2).with("env a on 0,1", "process 1 immune on 0", "process 2 in b on 1"));
        cycle(0);
        assertThat(find("detachments", "outcome", "detached")).hasValue(1);

        first.setSnapshot(host("gpu-1").devices(2).with("env a on 0", "process 1 immune on 0", "process 2 in a on 1"));
        cycle(10);
        assertThat(find("skipped", "reason", "audit")).hasValue(1);
        assertThat(find("skipped", "reason", "protected")).hasValue(2);
        assertThat(violations("active.violations", "env-devices", "audit")).hasValue(1);
    }

    /** What the settings leave alone is not a failure of the enforcement, however long it lasts. */
    @ParameterizedTest
    @CsvSource({
        "process 1 on 0, 86400",
        "process 1 immune on 0, 0",
        "process 1 in b on 0, 0", // the rule env-devices audits here
    })
    void hasTheAgeOfTheOldestViolationThatIsToBeEnded(String process, double seconds) {
        first.setSnapshot(host("gpu-1").devices(2).with("env b on 1", process))
                .answerWith(_ -> new Result(Outcome.DENIED, "needs the capability CAP_KILL"));
        cycle(0);
        assertThat(oldest()).isZero();
        cycle(86_400);
        assertThat(oldest()).isEqualTo(seconds);
        first.setSnapshot(host("gpu-1").devices(2).with("env b on 1"))
                .setExited(process(1).build().id());
        cycle(86_410);
        assertThat(oldest()).isZero();
    }

    private double oldest() {
        return registry.find("genv.enforcer.oldest.violation").gauges().stream()
                .mapToDouble(Gauge::value)
                .max()
                .orElseThrow();
    }

    private void cycle(long atSecond) {
        time.passTo(Duration.ofSeconds(atSecond));
        enforcer.runCycle();
    }

    private OptionalDouble terminations(String signal, String outcome) {
        return find("terminations", "rule", "non-env-processes", "signal", signal, "outcome", outcome);
    }

    private OptionalDouble violations(String name, String rule, String mode) {
        return find(name, "rule", rule, "mode", mode);
    }

    private OptionalDouble problem(String host) {
        return find("host.problems", "host", host, "code", ProblemCode.HOST_UNREACHABLE.label());
    }

    private OptionalDouble ofHost(String name, String host) {
        return find("host." + name, "host", host);
    }

    private OptionalDouble find(String name, String... labels) {
        return registry.find("genv.enforcer." + name).tags(labels).meters().stream()
                .mapToDouble(meter -> meter.measure().iterator().next().getValue())
                .findAny();
    }

    @ParameterizedTest
    @CsvSource({
        "http.server.requests,uri,/hosts,/hosts",
        "http.server.requests,uri,/violations/{id},/violations/{id}",
        "http.server.requests,uri,NOT_FOUND,NOT_FOUND",
        "http.server.requests,uri,/attacker,OTHER",
        "http.server.requests,method,GET,GET",
        "http.server.requests,method,BREW,OTHER",
        "http.server.requests,status,418,418",
        "genv.enforcer.host.up,uri,/attacker,/attacker",
    })
    void replacesLabelValuesChosenByClients(String meter, String label, String value, String expected) {
        var id = new Meter.Id(meter, Tags.of(label, value), null, null, Meter.Type.TIMER);
        assertThat(new RequestLabels().map(id).getTag(label)).isEqualTo(expected);
    }
}

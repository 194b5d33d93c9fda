package dev.genv.enforcer.telemetry;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.NoStore;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class HostMetricsTest {
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final List<Host> hosts = new ArrayList<>();
    private final FakeHost first = new FakeHost(host("gpu-1")
            .devices(2)
            .with(env("a"))
            .with(process(1).inEnvironment("a").uses(0)));
    private final FakeHost second = new FakeHost(host("gpu-2"));
    private final Enforcer enforcer = EnforcerFactory.create(
            EnforcerConfigBuilder.enforcerConfig(() -> new ArrayList<>(hosts))
                    .remote(true)
                    .build(),
            NoStore.records(new ViolationRegistry(10)),
            Ticker.ofSystem(),
            List.of(new HostMetrics(registry)));

    @Test
    void reportsTheStateOfEachHost() {
        hosts.addAll(List.of(first, second));
        second.observeWith(() -> {
            throw new UnreachableException(ProblemCode.HOST_UNREACHABLE, "refused");
        });
        enforcer.runCycle();
        assertThat(value("up", "gpu-1")).isEqualTo(1);
        assertThat(value("complete", "gpu-1")).isEqualTo(1);
        assertThat(value("gpu.processes", "gpu-1")).isEqualTo(1);
        assertThat(value("devices", "gpu-1")).isEqualTo(2);
        assertThat(value("environments", "gpu-1")).isEqualTo(1);
        assertThat(value("observation", "gpu-1")).isPositive();
        assertThat(value("up", "gpu-2")).isZero();
        assertThat(value("complete", "gpu-2")).isZero();

        second.setSnapshot(host("gpu-2"));
        enforcer.runCycle();
        enforcer.runCycle();
        assertThat(value("up", "gpu-2")).isEqualTo(1);
    }

    @Test
    void removesTheSeriesOfARemovedHost() {
        hosts.addAll(List.of(first, second));
        enforcer.runCycle();
        hosts.remove(second);
        enforcer.runCycle();
        assertThat(registry.find("genv.enforcer.host.up").gauges())
                .singleElement()
                .satisfies(gauge -> assertThat(gauge.getId().getTag("host")).isEqualTo("gpu-1"));
    }

    @Test
    void noHostIsUpAfterAFailedCycle() {
        hosts.addAll(List.of(first, second));
        enforcer.runCycle();
        hosts.add(null); // ends the cycle with an exception
        enforcer.runCycle();
        assertThat(value("up", "gpu-1")).isZero();
        assertThat(value("complete", "gpu-2")).isZero();
        assertThat(registry.find("genv.enforcer.host.devices").gauges()).isEmpty();

        hosts.removeLast();
        enforcer.runCycle();
        assertThat(value("up", "gpu-1")).isEqualTo(1);
        assertThat(value("devices", "gpu-1")).isEqualTo(2);
    }

    @Test
    void removesTheSeriesOfAGrantedPrivilege() {
        hosts.addAll(List.of(first.setMissingPrivileges("KILL", "SYS_PTRACE"), second.setMissingPrivileges("KILL")));
        enforcer.runCycle();
        assertThat(missingPrivilege("KILL")).hasValue(2);
        assertThat(missingPrivilege("SYS_PTRACE")).hasValue(1);

        first.setMissingPrivileges();
        enforcer.runCycle();
        assertThat(missingPrivilege("KILL")).hasValue(1);
        assertThat(missingPrivilege("SYS_PTRACE")).isEmpty();
    }

    @Test
    void problemHasASeriesWhileItLasts() {
        hosts.addAll(List.of(first, second));
        second.observeWith(() -> {
            throw new UnreachableException(ProblemCode.HOST_UNREACHABLE, "refused");
        });
        enforcer.runCycle();
        assertThat(problems("gpu-2", ProblemCode.HOST_UNREACHABLE)).hasValue(1);
        assertThat(problems("gpu-1", ProblemCode.HOST_UNREACHABLE)).isEmpty();

        second.setSnapshot(host("gpu-2"));
        enforcer.runCycle();
        enforcer.runCycle();
        assertThat(problems("gpu-2", ProblemCode.HOST_UNREACHABLE)).isEmpty();
    }

    @Test
    void recordsTheLockWaitOnlyWhenThereWasOne() {
        hosts.addAll(List.of(first.setLockWait(Duration.ofMillis(1500)), second));
        enforcer.runCycle();
        var wait = registry.get("genv.enforcer.lock.wait").timer();
        assertThat(wait.count()).isEqualTo(1);
        assertThat(wait.totalTime(TimeUnit.MILLISECONDS)).isEqualTo(1500);
    }

    private OptionalDouble problems(String host, ProblemCode code) {
        return registry
                .find("genv.enforcer.host.problems")
                .tag("host", host)
                .tag("code", code.label())
                .gauges()
                .stream()
                .mapToDouble(Gauge::value)
                .findAny();
    }

    private OptionalDouble missingPrivilege(String right) {
        return registry.find("genv.enforcer.missing.privileges").tag("privilege", right).gauges().stream()
                .mapToDouble(Gauge::value)
                .findFirst();
    }

    private double value(String name, String host) {
        return registry.get("genv.enforcer.host." + name)
                .tag("host", host)
                .gauge()
                .value();
    }
}

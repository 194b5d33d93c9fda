package dev.genv.enforcer.bench;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;

import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.model.Device.DeviceStatus;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.telemetry.GenvCollector;
import dev.genv.enforcer.telemetry.GenvCollector.GenvMetrics;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.NoStore;
import io.prometheus.client.CollectorRegistry;
import io.prometheus.client.exporter.common.TextFormat;
import java.io.IOException;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** The time of a scrape of genv's metrics: 8 devices with 32 processes each, and 16 environments a host. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
public class ScrapeBenchmark {
    private static final int DEVICES = 8;
    private static final int PROCESSES = 256;
    private static final int ENVIRONMENTS = 16;

    @Param({"1", "100"})
    int hosts;

    private final CollectorRegistry registry = new CollectorRegistry();

    @Setup
    public void runCycle() {
        var fleet = new ArrayList<Host>();
        for (var number = 0; number < hosts; number++) {
            fleet.add(machine("gpu-%03d".formatted(number)));
        }
        var collector = new GenvCollector(GenvMetrics.ALL, true);
        registry.register(collector);
        var config = EnforcerConfigBuilder.enforcerConfig(() -> List.copyOf(fleet))
                .remote(true)
                .build();
        EnforcerFactory.create(
                        config, NoStore.records(new ViolationRegistry(10)), Ticker.ofSystem(), List.of(collector))
                .runCycle();
    }

    @Benchmark
    public StringWriter scrape() throws IOException {
        var text = new StringWriter();
        TextFormat.write004(text, registry.metricFamilySamples());
        return text;
    }

    private static FakeHost machine(String name) {
        var host = host(name).devices(DEVICES);
        for (var number = 0; number < ENVIRONMENTS; number++) {
            host.with(env("e" + number).user("user-" + number).attached(number % DEVICES));
        }
        for (var pid = 1; pid <= PROCESSES; pid++) {
            var environment = pid % ENVIRONMENTS;
            host.with(process(pid).inEnvironment("e" + environment).uses(environment % DEVICES));
        }
        var status = new ArrayList<DeviceStatus>();
        for (var device = 0; device < DEVICES; device++) {
            status.add(
                    new DeviceStatus(device, 61, 87, Memory.ofMebibytes(1700), Memory.ofMebibytes(16384), null, null));
        }
        return new FakeHost(host).setStatus(true, status);
    }
}

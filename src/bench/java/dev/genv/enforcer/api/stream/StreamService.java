package dev.genv.enforcer.api.stream;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;
import dev.genv.enforcer.api.AsciiJsonCustomizer;
import dev.genv.enforcer.api.connection.ClientSlots;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.report.EventLog;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.NoStore;
import dev.genv.enforcer.testsupport.fake.Records;
import io.vertx.core.Vertx;
import io.vertx.ext.web.Router;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * The part of the service that streams events, with an enforcer over a node in memory. It runs as many cycles as a line on its standard
 * input asks for, and prints what they took.
 */
final class StreamService {
    private static final Duration INTERVAL = Duration.ofMillis(100);
    private static final int PROCESSES = 32;
    /** In each cycle so many processes break a rule, and those of the cycle before no longer do. */
    private static final int VIOLATIONS = 4;

    private static final Pattern RESIDENT = Pattern.compile("VmRSS:\\s+([0-9]+) kB");

    private final Enforcer enforcer;
    private final FakeHost node = new FakeHost(node(0));
    private long cycles;

    private StreamService(EventLog log) {
        var config = EnforcerConfigBuilder.enforcerConfig(node)
                .rules(Map.of(KnownRules.NON_ENV_PROCESSES, RuleMode.AUDIT), Limits.NONE)
                .build();
        enforcer = EnforcerFactory.create(
                config,
                new Records(new ViolationRegistry(10_000), log, new NoStore(), List.of()),
                Ticker.ofSystem(),
                List.of());
    }

    /** Serves until its standard input ends. */
    public static void main(String... arguments) throws IOException, InterruptedException {
        var log = new EventLog();
        var service = new StreamService(log);
        var json = new ObjectMapper()
                .registerModule(new JavaTimeModule())
                .disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS)
                .setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE);
        new AsciiJsonCustomizer().customize(json);
        var vertx = Vertx.vertx();
        var router = Router.router(vertx);
        new EventStreams(log, json, EventStreams.HEARTBEAT, new ClientSlots(64, 64)).register(router);
        vertx.createHttpServer()
                .requestHandler(router)
                .listen(0, "localhost")
                .onSuccess(server -> System.out.println(server.actualPort()));
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            service.run(Integer.parseInt(line));
        }
        System.exit(0);
    }

    private void run(int count) throws IOException, InterruptedException {
        var times = new long[count];
        var threads = ManagementFactory.getThreadMXBean();
        var cpu = 0L;
        for (var i = 0; i < count; i++) {
            node.setSnapshot(node(++cycles));
            var start = System.nanoTime();
            var cpuBefore = threads.getCurrentThreadCpuTime();
            enforcer.runCycle();
            times[i] = System.nanoTime() - start;
            cpu += threads.getCurrentThreadCpuTime() - cpuBefore;
            Thread.sleep(INTERVAL);
        }
        Arrays.sort(times);
        System.gc();
        var heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() / 1024.0 / 1024;
        var resident = RESIDENT.matcher(Files.readString(Path.of("/proc/self/status")))
                .results()
                .mapToLong(match -> Long.parseLong(match.group(1)))
                .sum();
        System.out.printf(
                "%.0f µs | %.0f µs | %.1f MiB | %.1f MiB%n",
                times[count / 2] / 1000.0, cpu / 1000.0 / count, heap, resident / 1024.0);
    }

    private static HostBuilder node(long cycle) {
        var host = host("gpu-1").devices(8).with(env("a").attached(0));
        for (var i = 0; i < PROCESSES; i++) {
            var process = process(1000 + i).uses(i % 8);
            host.with(i / VIOLATIONS == cycle % (PROCESSES / VIOLATIONS) ? process : process.inEnvironment("a"));
        }
        return host;
    }
}

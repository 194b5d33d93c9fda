package dev.genv.enforcer.api;

import static dev.genv.enforcer.testsupport.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.HostBuilder.host;
import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.chart.ChartQueries;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.Journal;
import dev.genv.enforcer.enforcement.Ticker;
import dev.genv.enforcer.enforcement.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.DeviceLimits;
import dev.genv.enforcer.policy.RuleMode;
import dev.genv.enforcer.policy.RuleName;
import dev.genv.enforcer.telemetry.ActionMetrics;
import dev.genv.enforcer.telemetry.HostMetrics;
import dev.genv.enforcer.testsupport.FakeHost;
import dev.genv.enforcer.testsupport.RawHttp;
import dev.genv.enforcer.testsupport.SetupBuilder;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import jakarta.inject.Inject;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.eclipse.microprofile.config.inject.ConfigProperty;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The alerts and the dashboard of the chart ask for metrics that the service has, by labels that these have. */
@QuarkusTest
@Tag("quarkus")
@TestProfile(GuardedNode.class)
class ChartMetricsTest {
    private static final Pattern SAMPLE = Pattern.compile("(?m)^([a-zA-Z_:]\\w*)(?:\\{(.*)})? [^ ]+$");
    private static final Pattern LABEL = Pattern.compile("(\\w+)=\"(?:[^\"\\\\]|\\\\.)*\"");

    @ConfigProperty(name = "quarkus.management.port")
    int port;

    @Inject
    Enforcer enforcer;

    @Inject
    MeterRegistry registry;

    @Test
    void everyMetricThatIsAskedForExists() throws IOException {
        enforcer.runCycle();
        letSomethingHappen();
        var http = new RawHttp(port);
        var token = "Authorization: Bearer " + GuardedNode.TOKEN;
        // The service reads the token by itself, and refuses everybody until then.
        await().atMost(HANG).until(() -> http.get("/q/metrics", token).status() == 200);
        var answer = http.get("/q/metrics", token);
        var exported = metrics(answer.text());
        var asked = ChartQueries.metrics();
        assertThat(exported.keySet()).containsAll(asked.keySet());
        asked.forEach(
                (metric, labels) -> assertThat(exported.get(metric)).as(metric).containsAll(labels));
    }

    /** Some metrics are not there before: here, on the same registry, a process is ended, a device detached, something left undone, a right missing. */
    private void letSomethingHappen() {
        var node = new FakeHost(host().devices(2)
                        .with(env("a").attached(0, 1))
                        .with(process(1).uses(0), process(2).in("a").uses(0)))
                .lacks("KILL");
        var setup = SetupBuilder.setup(node)
                .rules(
                        Map.of(
                                RuleName.NON_ENV_PROCESSES, RuleMode.ENFORCE,
                                RuleName.MAX_DEVICES_PER_USER, RuleMode.ENFORCE),
                        new DeviceLimits(1, Map.of()))
                .build();
        var gone = new FakeHost(host("gone")).looksLike(() -> {
            throw new UnreachableException(ProblemCode.HOST_UNREACHABLE, "refused");
        });
        var audit = SetupBuilder.setup(node, gone)
                .rules(Map.of(RuleName.NON_ENV_PROCESSES, RuleMode.AUDIT), DeviceLimits.NONE)
                .build();
        for (var each : List.of(setup, audit)) {
            new Enforcer(
                            each,
                            new Journal(10),
                            Ticker.ofSystem(),
                            List.of(new ActionMetrics(registry)::record, new HostMetrics(registry)::record))
                    .runCycle();
        }
    }

    private static Map<String, Set<String>> metrics(String text) {
        var found = new TreeMap<String, Set<String>>();
        SAMPLE.matcher(text.replace("\r", "")).results().forEach(sample -> {
            var labels = found.computeIfAbsent(sample.group(1), _ -> new TreeSet<>());
            if (sample.group(2) != null) {
                LABEL.matcher(sample.group(2)).results().forEach(label -> labels.add(label.group(1)));
            }
        });
        return found;
    }
}

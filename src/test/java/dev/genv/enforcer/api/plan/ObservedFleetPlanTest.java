package dev.genv.enforcer.api.plan;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.api.plan.PlanResource.PlanView.Found;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.model.GpuProcess.Immunity.Kind;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.fake.NoStore;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A plan for the observed fleet says what the service would do: nothing to whom it spares, and nothing in audit mode. */
class ObservedFleetPlanTest {
    private static final String NON_ENV = "{\"policy\": {\"rules\": {\"non-env-processes\": \"enforce\"}}}";
    private static final String QUOTA = "{\"policy\": {\"max_devices\": {\"default\": 0}}}";

    /** Process 1 may be terminated, 2 to 4 may not be. Environment a may be detached, b may not be. */
    private final FakeHost node = new FakeHost(host("gpu-1")
            .devices(2)
            .with(process(1).uses(0))
            .with(process(2).uses(0).immune(Kind.EXEMPT, "it belongs to an exempt user"))
            .with(process(3).uses(0).immune(Kind.PERHAPS_EXEMPT, "it may belong to an exempt user"))
            .with(process(4).uses(0).immune(Kind.PROTECTED, "it runs a protected program"))
            .with(env("a").attached(1), env("b").attached(1).exempt()));

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        ENFORCE | true  | {}                    | 1 2 3 4 | terminate 1
        AUDIT   | true  | {}                    | 1 2 3 4 |
        ENFORCE | false | {}                    | 1 2 3 4 |
        ENFORCE | true  | NON_ENV               | 1 2 3 4 | terminate 1
        AUDIT   | true  | NON_ENV               | 1 2 3 4 | terminate 1
        ENFORCE | false | NON_ENV               | 1 2 3 4 |
        ENFORCE | true  | QUOTA                 |         | detach a
        ENFORCE | false | QUOTA                 |         | detach a
        ENFORCE | true  | {"policy": {}}        |         |
        """)
    void actionsAreThoseThatTheServiceWouldExecute(
            ServiceMode mode, boolean signals, String body, @Nullable String found, @Nullable String actions) {
        var config = EnforcerConfigBuilder.enforcerConfig(node)
                .rules(Map.of(KnownRules.NON_ENV_PROCESSES, RuleMode.ENFORCE), Limits.NONE)
                .mode(mode)
                .signals(signals)
                .build();
        var enforcer = EnforcerFactory.create(
                config, NoStore.records(new ViolationRegistry(10)), new FakeTime().ticker(), List.of());
        enforcer.runCycle();
        var resource = new PlanResource(enforcer, config, new ObjectMapper());
        var json = Map.of("NON_ENV", NON_ENV, "QUOTA", QUOTA).getOrDefault(body, body);

        var view = resource.check(
                new PlanRequest(new ByteArrayInputStream(json.getBytes(StandardCharsets.UTF_8)), 1 << 20));

        assertThat(view.violations().stream().map(Found::processes).flatMap(List::stream))
                .extracting("pid")
                .map(Object::toString)
                .containsExactly(words(found));
        assertThat(view.actions())
                .extracting(
                        action -> action.type() + " " + (action.pid() == null ? action.environment() : action.pid()))
                .containsExactly(actions == null ? new String[0] : new String[] {actions});
    }

    private static String[] words(@Nullable String text) {
        return text == null ? new String[0] : text.split(" ");
    }
}

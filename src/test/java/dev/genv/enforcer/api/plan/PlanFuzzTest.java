package dev.genv.enforcer.api.plan;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.genv.enforcer.api.view.SnapshotView;
import dev.genv.enforcer.genv.GenvJson;
import dev.genv.enforcer.genv.SnapshotJson;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.JsonTree;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.RandomFleets;
import io.quarkus.test.junit.QuarkusTest;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Plans of some random fleets over HTTP: the answer must be the plan of the policy. */
@QuarkusTest
@Tag("quarkus")
class PlanFuzzTest {
    private static final int RUNS = Integer.getInteger("fuzz.http.runs", 100);
    private static final long SEED = Long.getLong("fuzz.seed", 20261120L);
    private static final Policy ALL_RULES = KnownRules.policy(
            Arrays.stream(KnownRules.all()).collect(Collectors.toMap(Function.identity(), _ -> RuleMode.ENFORCE)),
            new Limits(2, Map.of("bob", 1)));
    private static final String POLICY = """
        {"non_env_processes": true, "env_devices": true, "env_memory": true, "inactive_env_processes": true, "env_owner": true,
         "max_devices_per_user": 2, "max_devices_for_user": {"bob": 1}}\
        """;

    @Test
    void planOverHttpEqualsThePlanOfThePolicy() throws Exception {
        var fleets = new RandomFleets(SEED);
        for (var run = 0; run < RUNS; run++) {
            var snapshots = JsonNodeFactory.instance.objectNode();
            fleets.next().snapshots().forEach(each -> snapshots.set(each.host(), JsonTree.of(SnapshotView.of(each))));
            var body = "{\"policy\": %s, \"snapshots\": %s}"
                    .formatted(POLICY, new String(GenvJson.write(snapshots), StandardCharsets.UTF_8));

            var answer = GenvJson.read(given().contentType("application/json")
                    .body(body)
                    .post("/plan")
                    .then()
                    .statusCode(200)
                    .extract()
                    .asByteArray());

            var expected = ALL_RULES.check(read(snapshots), Set.of());
            assertThat(answer.path("violations").findValuesAsText("message"))
                    .as("seed %d run %d", SEED, run)
                    .containsExactlyElementsOf(expected.violations().stream()
                            .map(violation -> violation.message())
                            .toList());
            assertThat(answer.path("actions"))
                    .extracting(action -> action.path("host").asText() + " "
                            + (action.has("pid")
                                    ? action.path("pid").asText()
                                    : action.path("environment").asText() + " "
                                            + action.path("device").asText()))
                    .as("seed %d run %d", SEED, run)
                    .containsExactlyElementsOf(
                            expected.actions().stream().map(PlanFuzzTest::text).toList());
        }
    }

    private static String text(PlannedAction planned) {
        return switch (planned.action()) {
            case Action.Terminate(var host, var process, var _) -> host + " " + process.pid();
            case Action.Detach(var host, var environment, var device, var attachment) ->
                host + " " + environment.eid() + " " + device;
        };
    }

    private static Fleet read(JsonNode hosts) throws Exception {
        var snapshots = new ArrayList<Snapshot>();
        for (var host : hosts.properties()) {
            snapshots.add(SnapshotJson.read(host.getKey(), host.getValue()));
        }
        return new Fleet(List.copyOf(snapshots), snapshots.size() > 1);
    }
}

package dev.genv.enforcer.api.plan;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasSize;
import static org.hamcrest.Matchers.nullValue;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.ValidatableResponse;
import java.io.IOException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@QuarkusTest
@Tag("quarkus")
class PlanResourceTest {
    private static final String ENVS = """
            {"envs": [{"eid": "40", "uid": 1000, "creation": "20/11/2026 09:22:28", "username": "raz",
              "config": {"name": null, "gpu_memory": "1000mi", "gpus": 1}, "pids": [40], "kernel_ids": []}]}""";
    private static final String DEVICES = """
            {"devices": [{"index": 0, "total_memory": "15258mi",
              "attachments": [{"eid": "40", "gpu_memory": null, "time": "20/11/2026 09:22:28"}]}]}""";
    private static final String PROCESSES = """
            {"processes": [{"pid": 5434, "used_gpu_memory": [{"index": 0, "gpu_memory": "777mi"}], "eid": null},
              {"pid": 812, "used_gpu_memory": [{"index": 0, "gpu_memory": "1100mi"}], "eid": "40"}]}""";
    private static final String SNAPSHOTS = "{\"gpu-1\": %s}".formatted(snapshot(PROCESSES, ENVS, DEVICES));

    @Test
    void returnsViolationsAndActionsOfThePolicy() {
        var answer = plan(
                        "{\"rules\": {\"non-env-processes\": \"enforce\", \"env-memory\": \"enforce\"}, \"max_devices\": {\"default\": 0}}",
                        SNAPSHOTS)
                .statusCode(200)
                .body("violations.rule", contains("non-env-processes", "max-devices-per-user", "env-memory"))
                .body("violations[0].message", equalTo("Process 5434 is not running in a GPU environment"))
                .body("violations[0].host", equalTo("gpu-1"))
                .body("violations[0].user", nullValue())
                .body("violations[0].environment", nullValue())
                .body("violations[0].devices", contains(0))
                .body("violations[0].processes.pid", contains(5434));

        assertThat(answer.extract().asString().replaceFirst(".*\"actions\":", ""))
                .isEqualTo("""
                    [{"type":"terminate","host":"gpu-1","pid":812,"devices":[0],"rules":["max-devices-per-user","env-memory"]},
                    {"type":"terminate","host":"gpu-1","pid":5434,"devices":[0],"rules":["non-env-processes"]},
                    {"type":"detach","host":"gpu-1","user":"raz","environment":"40","device":0,"rules":["max-devices-per-user"]}]}\
                    """.replace("\n", ""));
    }

    @Test
    void namesTheHostOfAViolationAmongSeveral() {
        plan(
                        "{\"rules\": {\"non-env-processes\": \"enforce\"}}",
                        "{\"gpu-1\": %1$s, \"gpu-2\": %1$s}".formatted(snapshot(PROCESSES, ENVS, DEVICES)))
                .statusCode(200)
                .body(
                        "violations.message",
                        contains(
                                "[gpu-1] Process 5434 is not running in a GPU environment",
                                "[gpu-2] Process 5434 is not running in a GPU environment"))
                .body("violations.host", contains("gpu-1", "gpu-2"))
                .body("actions.host", contains("gpu-1", "gpu-2"));
    }

    @Test
    void withoutAFolderThereIsAReportOfThisRun() {
        given().get("/report").then().statusCode(200).body("complete", equalTo(true));
    }

    @Test
    void policyInTheBodyReplacesTheConfiguredOne() {
        plan("{}", SNAPSHOTS).statusCode(200).body("violations", hasSize(0)).body("actions", hasSize(0));
        plan("{\"max_devices\": {\"default\": \"none\", \"users\": {\"raz\": 0}}}", SNAPSHOTS)
                .body("violations.rule", contains("max-devices-per-user"));
    }

    @Test
    void takesThePolicyInForceInTheFormInWhichTheServiceShowsIt() throws IOException {
        var shown = new ObjectMapper().readTree(given().get("/policy").asInputStream());
        assertThat(shown.at("/policy/rules/env-memory").asText()).isEqualTo("enforce");
        assertThat(shown.at("/policy/max_devices/default").asText()).isEqualTo("none");
        assertThat(shown.at("/sources").path("rules.env-memory").asText()).isEqualTo("GENV_ENFORCER_ENV_MEMORY");
        assertThat(shown.path("next_change").isNull()).isTrue();
        plan(shown.path("policy").toString(), SNAPSHOTS)
                .statusCode(200)
                .body("violations.rule", contains("env-memory"));
    }

    @Test
    void refusesAnExemptionThatTheRunningPolicyHasNot() {
        plan("{\"exempt\": {\"users\": [\"svc\"]}}", SNAPSHOTS)
                .statusCode(400)
                .body("detail", containsString("policy.exempt has svc"));
    }

    @Test
    void namesTheUsersWhoseLimitIsUnknown() {
        plan("{\"max_devices\": {\"default\": 1, \"groups\": {\"phd\": 0}}}", SNAPSHOTS)
                .statusCode(200)
                .body("unknown_limits", contains(containsString("It is unknown which limit user raz has")))
                .body("violations", hasSize(0));
    }

    @Test
    void refusesAPolicyThatIsTooLong() {
        var users =
                IntStream.range(0, 3000).mapToObj("\"user%d\": 1"::formatted).collect(Collectors.joining(","));
        plan("{\"max_devices\": {\"users\": {%s}}}".formatted(users), SNAPSHOTS)
                .statusCode(413)
                .body("detail", equalTo("policy is longer than 32768 bytes"));
    }

    @Test
    void usesTheConfiguredPolicyByDefault() {
        post("{\"snapshots\": %s}".formatted(SNAPSHOTS))
                .statusCode(200)
                .body("violations.rule", contains("env-memory")); // the defaults
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        777mi|777xi|777xi
        "pid": 812|"pid": "812"|pid
        "pid": 812|"pid": 5434|more than once
        "index": 0, "gpu_memory": "1100mi"|"index": -1, "gpu_memory": "1100mi"|index
        "uid": 1000|"uid": null|uid
        "pids": [40]|"pids": 40|pids
        "attachments": [{|"attachments": [1, {|attachment
        """)
    void refusesInvalidSnapshotAndNamesTheField(String good, String bad, String named) {
        var broken = SNAPSHOTS.replace(good, bad);
        post("{\"snapshots\": %s}".formatted(broken))
                .statusCode(400)
                .body("detail", containsString("snapshots.gpu-1"))
                .body("detail", containsString(named));
    }

    @Test
    void refusesABodyThatIsTooLarge() {
        post(" ".repeat(PlanMemory.LARGEST + 1))
                .statusCode(413)
                .contentType("application/problem+json")
                .body("detail", containsString("33554432"));
    }

    @Test
    void refusesAHostWithTooLongANameOrTooManyDevices() {
        plan("{}", "{\"%s\": {}}".formatted("x".repeat(254)))
                .statusCode(400)
                .body("detail", containsString("253 characters"));
        var devices = IntStream.rangeClosed(0, 256)
                .mapToObj("{\"index\": %d, \"attachments\": []}"::formatted)
                .collect(Collectors.joining(", ", "{\"devices\": [", "]}"));
        plan("{}", "{\"gpu-1\": %s}".formatted(snapshot(PROCESSES, ENVS, devices)))
                .statusCode(400)
                .body("detail", containsString("256 devices"));
    }

    @Test
    void refusesABodyThatIsTooDeep() {
        post("[".repeat(100_000)).statusCode(400).contentType("application/problem+json");
    }

    private static ValidatableResponse plan(String policy, String snapshots) {
        return post("{\"policy\": %s, \"snapshots\": %s}".formatted(policy, snapshots));
    }

    private static ValidatableResponse post(String body) {
        return given().contentType("application/json").body(body).post("/plan").then();
    }

    private static String snapshot(String processes, String envs, String devices) {
        return "{\"processes\": %s, \"envs\": %s, \"devices\": %s}".formatted(processes, envs, devices);
    }
}

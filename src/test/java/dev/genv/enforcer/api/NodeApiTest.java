package dev.genv.enforcer.api;

import static io.restassured.RestAssured.given;
import static io.restassured.RestAssured.when;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.everyItem;
import static org.hamcrest.Matchers.hasItem;
import static org.hamcrest.Matchers.hasItems;
import static org.hamcrest.Matchers.hasSize;
import static org.hamcrest.Matchers.notNullValue;
import static org.hamcrest.Matchers.nullValue;

import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.specification.RequestSender;
import jakarta.inject.Inject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.ZoneId;
import org.eclipse.microprofile.config.inject.ConfigProperty;
import org.junit.jupiter.api.MethodOrderer.OrderAnnotation;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

/** The HTTP API on the real node: first without a GPU tool, then with a fake one, with which the service recovers. */
@QuarkusTest
@Tag("quarkus")
@TestMethodOrder(OrderAnnotation.class)
class NodeApiTest {
    private static final Path NVIDIA_SMI = Path.of(System.getProperty("genv.enforcer.nvidia-smi"));

    @ConfigProperty(name = "quarkus.management.port")
    int managementPort;

    @Inject
    Enforcer enforcer;

    private RequestSender management() {
        return given().port(managementPort).when();
    }

    @Test
    @Order(1)
    void reportsThatNoCycleHasEndedYet() throws IOException {
        Files.deleteIfExists(NVIDIA_SMI);
        assertThat(enforcer.latest()).isEmpty();

        management().get("/q/health/started").then().statusCode(503);
        management().get("/q/health/ready").then().statusCode(503).body(containsString("no cycle has ended yet"));
        management().get("/q/health/live").then().statusCode(200);
        when().get("/hosts").then().statusCode(200).body("$", hasSize(0));
        when().get("/snapshot").then().statusCode(200).body("size()", equalTo(0));
        when().get("/status").then().body("last_cycle_at", nullValue());
        when().get("/users/root")
                .then()
                .statusCode(503)
                .contentType("application/problem+json")
                .body("detail", equalTo("no cycle has ended yet"));
        given().contentType("application/json")
                .post("/plan")
                .then()
                .statusCode(503)
                .body(containsString("no cycle"));
    }

    @Test
    @Order(2)
    void incompleteObservationIsReportedEverywhere() {
        assertThat(enforcer.runCycle().orElseThrow().result()).isEqualTo(CycleResult.INCOMPLETE);

        management().get("/q/health/started").then().statusCode(200);
        management()
                .get("/q/health/ready")
                .then()
                .statusCode(503)
                .body("checks[0].data.reason", equalTo("the last cycle could not observe everything"))
                .body("checks[0].data.values()", hasItem(containsString("nvidia-smi is not a program")));
        when().get("/hosts")
                .then()
                .body("[0].status", equalTo("degraded"))
                .body("[0].problems.code", hasItem("gpu_tool_failed"));
        management()
                .get("/q/metrics")
                .then()
                .body(containsString("genv_enforcer_cycles_total{result=\"incomplete\",} 1.0"))
                .body(containsString("genv_enforcer_last_success_timestamp_seconds 0.0"));
    }

    @Test
    @Order(3)
    void becomesReadyWhenNvidiaSmiReturns() throws IOException {
        new FakeNvidiaSmi(NVIDIA_SMI.getParent()).gpus(1);
        assertThat(enforcer.runCycle().orElseThrow().result()).isEqualTo(CycleResult.SUCCESS);

        var snapshot = enforcer.latest().orElseThrow().fleet().snapshots().getFirst();
        var missing = snapshot.details().missingPrivileges();
        management().get("/q/health/ready").then().statusCode(missing.isEmpty() ? 200 : 503);
        when().get("/hosts")
                .then()
                .body("[0].host", equalTo(snapshot.host()))
                .body("[0].status", equalTo("ok"))
                .body("[0].devices", equalTo(1))
                .body("[0].last_observed", notNullValue())
                .body("[0].observation_ms", notNullValue())
                .body("[0].problems.findAll { it.code != 'missing_privilege' }", hasSize(0))
                .body("[0].problems", hasSize(missing.size()))
                .body("[0].missing_privileges", equalTo(missing));
        assertThat(missing.isEmpty()).isEqualTo(CurrentProcess.hasRequiredCapabilities());
        when().get("/status")
                .then()
                .body("version", notNullValue())
                .body("late", equalTo(false))
                .body("error", nullValue());
        when().get("/snapshot").then().body("'%s'.processes.processes".formatted(snapshot.host()), hasSize(0));
        when().get("/users/root")
                .then()
                .statusCode(200)
                .body("user", equalTo("root"))
                .body("limits.rule", hasItems("max-devices-per-user", "max-memory-per-user"))
                .body("limits.state", everyItem(equalTo("none")))
                .body("limits.because", everyItem(equalTo("no limit")));
        when().get("/policy")
                .then()
                .body("version", notNullValue())
                .body("exempt_users", hasSize(0))
                .body("policy.exempt.cgroups", hasSize(0))
                .body("policy_file.hours", hasSize(0))
                .body("policy_grace_seconds", equalTo(900.0f))
                .body("time_zone", equalTo(ZoneId.systemDefault().getId()))
                .body("protected_programs.find { it.path == '/usr/bin/nvidia-cuda-mps-server' }.user", equalTo("*"))
                .body("protected_programs.find { it.path == '/usr/bin/Xorg' }.user", equalTo("0"));
        management()
                .get("/q/metrics")
                .then()
                .body(containsString("genv_enforcer_cycles_total{result=\"success\",} 1.0"))
                .body(containsString("genv_enforcer_cycle_duration_seconds_count 2"))
                .body(containsString("genv_enforcer_info{mode=\"enforce\",version=\""))
                .body(containsString("genv_enforcer_violations_total{mode=\"audit\",rule=\"env-owner\",} 0.0"))
                .body(containsString("jvm_memory_used_bytes"));
    }
}

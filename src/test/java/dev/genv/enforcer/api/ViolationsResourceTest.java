package dev.genv.enforcer.api;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.remote;
import static io.restassured.RestAssured.given;
import static io.restassured.RestAssured.when;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasSize;
import static org.hamcrest.Matchers.nullValue;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Order.WaitReason;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.record.ViolationRecord.NextAction;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.testsupport.KnownRules;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@QuarkusTest
@Tag("quarkus")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ViolationsResourceTest {
    private static final Instant EARLY = Instant.parse("2026-11-20T09:00:00Z");
    private static final Instant LATE = Instant.parse("2026-11-20T10:00:00Z");

    @Inject
    ViolationRegistry registry;

    /** A memory violation that is active since 10:00, and a violation of a process that exited at 9:00. */
    @BeforeAll
    void recordViolations() {
        var stray = new Violation(
                KnownRules.NON_ENV_PROCESSES,
                "gpu-2",
                "process 7 1",
                "Process 7 is not running in a GPU environment",
                null,
                null,
                List.of(1),
                List.of(process(7).uses(1).uidUnknown().build()));
        var memory = new Violation(
                KnownRules.ENV_MEMORY,
                "gpu-1",
                "environment a device 0 uid 1003",
                "Environment a is using 1153m on device 0 which is 104m over its capacity of 1000mi",
                "raz",
                "a",
                List.of(0),
                List.of(process(812).inEnvironment("a").uid(1003).uses(0).build()));
        updateRegistry(EARLY, List.of(), Map.of(), stray);
        updateRegistry(LATE, List.of(signalled(memory)), Map.of(memory.key(), List.of(kill(memory))), memory);
    }

    @Test
    void returnsTheNewestFirstInTheDocumentedFormat() {
        when().get("/violations")
                .then()
                .statusCode(200)
                .contentType("application/json")
                .body("[0].rule", equalTo("env-memory"))
                .body("[0].host", equalTo("gpu-1"))
                .body("[0].status", equalTo("active"))
                .body("[0].mode", equalTo("enforce"))
                .body("[0].message", containsString("1153m"))
                .body("[0].user", equalTo("raz"))
                .body("[0].environment", equalTo("a"))
                .body("[0].devices", contains(0))
                .body("[0].processes[0].pid", equalTo(812))
                .body("[0].processes[0].start_time", equalTo(991232))
                .body("[0].processes[0].command", equalTo("python"))
                .body("[0].processes[0].uid", equalTo(1003))
                .body("[0].first_seen", equalTo("2026-11-20T10:00:00Z"))
                .body("[0].last_seen", equalTo("2026-11-20T10:00:00Z"))
                .body("[0].cycles", equalTo(1))
                .body("[0].actions[0].type", equalTo("terminate"))
                .body("[0].actions[0].pid", equalTo(812))
                .body("[0].actions[0].signal", equalTo("TERM"))
                .body("[0].actions[0].at", equalTo("2026-11-20T10:00:00Z"))
                .body("[0].actions[0].outcome", equalTo("signalled"))
                .body("[0].actions[0].detail", nullValue())
                .body("[0].next[0].type", equalTo("terminate"))
                .body("[0].next[0].pid", equalTo(812))
                .body("[0].next[0].signal", equalTo("KILL"))
                .body("[0].next[0].not_before", equalTo("2026-11-20T10:00:30Z"))
                .body("[0].next[0].because", equalTo("kill_after"))
                .body("[1].next", hasSize(0))
                .body("[1].rule", equalTo("non-env-processes"))
                .body("[1].processes[0].uid", nullValue());
    }

    @Test
    void returnsAViolationByItsId() {
        String id = when().get("/violations?status=active").path("[0].id");
        when().get("/violations/" + id).then().statusCode(200).body("id", equalTo(id));
        when().get("/violations/4711")
                .then()
                .statusCode(404)
                .contentType("application/problem+json")
                .body("detail", containsString("4711"));
    }

    @ParameterizedTest
    @CsvSource({
        "status,active,env-memory",
        "status,resolved,non-env-processes",
        "rule,env-memory,env-memory",
        "user,raz,env-memory",
        "host,gpu-2,non-env-processes",
        "since,2026-11-20T09:30:00Z,env-memory",
        "since,2026-11-20T10:30:00+01:00,env-memory",
        "limit,1,env-memory"
    })
    void filtersByEachParameter(String parameter, String value, String rule) {
        given().queryParam(parameter, value)
                .queryParam(
                        parameter.equals("limit") ? "since" : "limit",
                        parameter.equals("limit") ? "2020-01-01T00:00:00Z" : "1")
                .when()
                .get("/violations")
                .then()
                .statusCode(200)
                .body("rule", contains(rule));
    }

    @ParameterizedTest
    @CsvSource({
        "status,over",
        "rule,env_memory",
        "since,tomorrow",
        "since,2026-11-20T09:30:00",
        "limit,0",
        "limit,1001",
        "limit,many",
        "statu,active"
    })
    void refusesInvalidParameterAndNamesIt(String parameter, String value) {
        given().queryParam(parameter, value)
                .when()
                .get("/violations")
                .then()
                .statusCode(400)
                .contentType("application/problem+json")
                .body("status", equalTo(400))
                .body("title", equalTo("Bad Request"))
                .body("detail", containsString("parameter " + parameter));
    }

    private void updateRegistry(
            Instant now,
            List<ActionRecord> records,
            Map<Violation.Key, List<NextAction>> next,
            Violation... violations) {
        registry.record(
                new Plan(List.of(violations), List.of(), List.of()),
                new Fleet(remote(host("gpu-1"), host("gpu-2")).snapshots(), true, now),
                records,
                next,
                _ -> RuleMode.ENFORCE);
        registry.publish();
    }

    private static NextAction kill(Violation violation) {
        var action = new Action.Terminate("gpu-1", violation.processes().getFirst(), Signal.KILL);
        return NextAction.of(action, LATE.plusSeconds(30), WaitReason.KILL_AFTER);
    }

    private static ActionRecord signalled(Violation violation) {
        var action = new Action.Terminate("gpu-1", violation.processes().getFirst());
        return new ActionRecord(
                new PlannedAction(action, List.of(violation), true), Result.of(Outcome.SIGNALLED), LATE);
    }
}

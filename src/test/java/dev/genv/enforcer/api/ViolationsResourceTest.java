package dev.genv.enforcer.api;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.remote;
import static io.restassured.RestAssured.when;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.equalTo;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.report.ViolationRecord.NextAction;
import dev.genv.enforcer.enforcement.report.ViolationRecord.WaitReason;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
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
        var answer = when().get("/violations").then().statusCode(200).contentType("application/json");

        assertThat(answer.extract().asString().replaceAll("\"id\":\"[^\"]*\",", ""))
                .isEqualTo("""
                    [{"rule":"env-memory","host":"gpu-1","status":"active","mode":"enforce","message":"Environment a is using 1153m
                     on device 0 which is 104m over its capacity of 1000mi","user":"raz","environment":"a","devices":[0],
                    "processes":[{"pid":812,"start_time":991232,"command":"python","uid":1003,"user":null,"user_by":null,
                    "membership":{"by":"environ"},"workload":null}],
                    "first_seen":"2026-11-20T10:00:00Z","last_seen":"2026-11-20T10:00:00Z","cycles":1,
                    "actions":[{"type":"terminate","host":"gpu-1","pid":812,"signal":"TERM","at":"2026-11-20T10:00:00Z",
                    "outcome":"signalled","detail":null}],
                    "next":[{"type":"terminate","host":"gpu-1","pid":812,"signal":"KILL","not_before":"2026-11-20T10:00:30Z",
                    "because":"kill_after"}]},
                    {"rule":"non-env-processes","host":"gpu-2","status":"resolved","mode":"enforce",
                    "message":"Process 7 is not running in a GPU environment","user":null,"environment":null,"devices":[1],
                    "processes":[{"pid":7,"start_time":991232,"command":"python","uid":null,"user":null,"user_by":null,
                    "membership":{"by":"environ"},"workload":null}],
                    "first_seen":"2026-11-20T09:00:00Z","last_seen":"2026-11-20T09:00:00Z","cycles":1,"actions":[],"next":[]}]\
                    """.replace("\n", ""));
    }

    @Test
    void returnsAViolationByItsId() {
        String id = when().get("/violations?status=active").path("[0].id");
        when().get("/violations/" + id).then().statusCode(200).body("id", equalTo(id));
        when().get("/violations?limit=1").then().body("id", contains(id));
    }

    private void updateRegistry(
            Instant now,
            List<ActionRecord> records,
            Map<Violation.Key, List<NextAction>> next,
            Violation... violations) {
        registry.remember(
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
        return new ActionRecord(new PlannedAction(action, List.of(violation)), Result.of(Outcome.SIGNALLED), LATE);
    }
}

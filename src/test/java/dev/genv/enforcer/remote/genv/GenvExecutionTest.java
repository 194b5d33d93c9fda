package dev.genv.enforcer.remote.genv;

import static dev.genv.enforcer.remote.genv.ScriptedCommandRunner.recorded;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.Attachment;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Signal;
import dev.genv.enforcer.remote.CommandRequest;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GenvExecutionTest {
    private static final String SNAPSHOT = recorded("snapshot.txt");
    private static final String GONE = recorded("snapshot-fresh.txt");

    private final ScriptedCommandRunner host = new ScriptedCommandRunner();
    private final GenvAgent agent = new GenvAgent("gpu-1", GenvObservationTest.config(true, "/var/tmp/genv"), false);
    private final Map<Action, Result> results = new LinkedHashMap<>();
    private Snapshot snapshot;

    @BeforeEach
    void observe() throws Exception {
        snapshot = agent.observe(new ScriptedCommandRunner().thenReturn(SNAPSHOT), Set.of())
                .snapshot();
    }

    @Test
    void sendsTheSameJsonAsGenv() throws Exception {
        host.thenReturn(SNAPSHOT).thenReturn(recorded("execute-output.txt")).thenReturn(recorded("snapshot-after.txt"));
        execute(terminate(63600), terminate(67708), detach("67609", 0), detach("67609", 1));
        assertThat(host.requests())
                .extracting(CommandRequest::command)
                .containsExactly(
                        "env LC_ALL=C sudo -n genv usage snapshot",
                        "env LC_ALL=C sudo -n genv usage execute",
                        "env LC_ALL=C sudo -n genv usage snapshot");
        assertThat(host.requests().get(1).input()).isEqualTo(recorded("execute.txt"));
        assertOutcomes(Outcome.SIGNALLED, Outcome.SIGNALLED, Outcome.DETACHED, Outcome.DETACHED);
    }

    @Test
    void sendsEmptyListsLikeGenv() throws Exception {
        host.thenReturn(SNAPSHOT).thenReturn("");
        execute(terminate(15990));
        assertThat(host.requests().get(1).input())
                .isEqualTo(
                        "{\"terminate\": {\"processes\": [{\"pid\": 15990, \"used_gpu_memory\": [{\"index\": 0, \"gpu_memory\": \"1100mi\"}], \"eid\": \"15971\"}]}, \"detach\": {}}");
        assertThat(host.isFinished()).isTrue();
    }

    @Test
    void processAndAttachmentThatAreGoneAreNotSent() throws Exception {
        host.thenReturn(GONE);
        execute(terminate(63600), detach("67609", 1));
        assertOutcomes(Outcome.ALREADY_GONE, Outcome.ALREADY_DETACHED);
        assertThat(host.requests()).hasSize(1);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "0,\\s*(\"gpu_memory\": \"777mi\") | 1, $1",
                "\"eid\": null                     | \"eid\": \"15971\"",
                "\\[\\s*15971\\s*]                  | [63600]",
            })
    void changedProcessIsNotTerminated(String before, String now) throws Exception {
        var changed = SNAPSHOT.replaceFirst(before, now);
        assertThat(changed).isNotEqualTo(SNAPSHOT);
        host.thenReturn(changed);
        execute(terminate(63600));
        assertThat(results.values())
                .containsExactly(Result.failed("its identity has changed since the rules were checked"));
        assertThat(host.requests()).hasSize(1);
    }

    @Test
    void processThatChangesAtEveryCheckIsTerminatedAtTheThirdAttempt() throws Exception {
        for (var round = 0; round < 2; round++) {
            host.thenReturn(SNAPSHOT.replace("\"eid\": null", "\"eid\": \"" + round + "\""));
            execute(terminate(63600));
            assertOutcomes(Outcome.FAILED);
        }
        host.thenReturn(SNAPSHOT.replace("\"eid\": null", "\"eid\": \"2\"")).thenReturn("");
        execute(terminate(63600));
        assertOutcomes(Outcome.SIGNALLED);
        assertThat(host.requests().getLast().input()).contains("\"eid\": \"2\"");
    }

    @Test
    void refusesSigkillWhichGenvCannotSend() throws Exception {
        host.thenReturn(SNAPSHOT);
        execute(new Action.Terminate("gpu-1", process(63600), Signal.KILL));
        assertThat(results.values())
                .singleElement()
                .satisfies(result -> assertThat(result.detail()).contains("SIGTERM"));
        assertThat(host.requests()).hasSize(1);
    }

    @ParameterizedTest
    @CsvSource({"0", "1"})
    void neverTerminatesInvalidPid(int pid) throws Exception {
        host.thenReturn(SNAPSHOT.replace("63600", Integer.toString(pid)));
        execute(new Action.Terminate(
                "gpu-1",
                new GpuProcess(
                        new ProcessId(pid, 0),
                        null,
                        "",
                        new Membership.Outside(),
                        process(63600).usage())));
        assertOutcomes(Outcome.SKIPPED_PROTECTED);
        assertThat(host.requests()).hasSize(1);
    }

    @Test
    void reportsProcessesThatGenvCouldNotTerminate() throws Exception {
        host.thenReturn(SNAPSHOT)
                .thenExit(
                        0,
                        recorded("execute-output.txt"),
                        "[ERROR] Not enough permissions to terminate process 63600\n[DEBUG] Process 67708 already terminated\n");
        execute(terminate(63600), terminate(67708), terminate(15990));
        assertOutcomes(Outcome.DENIED, Outcome.ALREADY_GONE, Outcome.SIGNALLED);
    }

    @Test
    void doesNotDetachRenewedAttachment() throws Exception {
        host.thenReturn(SNAPSHOT.replace("10:02:11", "10:02:12"));
        execute(detach("67609", 1));
        assertOutcomes(Outcome.ALREADY_DETACHED);
        assertThat(host.requests()).hasSize(1);
    }

    /** genv detaches an environment from a device, and not one attachment. */
    @Test
    void doesNotDetachBesideAnUnobservedAttachment() throws Exception {
        var twice = SNAPSHOT.replaceFirst(
                "(\\{\\s*\"eid\": \"67609\",\\s*\"gpu_memory\": null,\\s*\"time\": \")20/11/2026 10:02:11(\"\\s*})",
                "$120/11/2026 10:02:11$2, $120/11/2026 11:00:00$2");
        assertThat(twice).isNotEqualTo(SNAPSHOT);
        host.thenReturn(twice);
        execute(detach("67609", 0));
        assertThat(results.values())
                .singleElement()
                .satisfies(result -> assertThat(result.detail()).contains("more than once"));
        host.thenReturn(twice).thenReturn("").thenReturn(GONE);
        var other = new Attachment("67609", null, "20/11/2026 11:00:00");
        execute(detach("67609", 0), new Action.Detach("gpu-1", environment("67609"), 0, other));
        assertOutcomes(Outcome.DETACHED, Outcome.DETACHED);
        assertThat(host.requests().get(2).input().split("\"envs\"", -1)).hasSize(2);
    }

    /** genv looks for device N at place N. */
    @Test
    void doesNotDetachWhenDevicesAreOutOfOrder() throws Exception {
        host.thenReturn(SNAPSHOT.replaceFirst("1(,\\s*\"total_memory\")", "3$1")
                .replaceFirst("2(,\\s*\"total_memory\")", "1$1"));
        var attachment = new Attachment("67609", null, "20/11/2026 10:02:11");
        execute(new Action.Detach("gpu-1", environment("67609"), 3, attachment));
        assertThat(results.values())
                .singleElement()
                .satisfies(result -> assertThat(result.detail()).contains("in order"));
        assertThat(host.requests()).hasSize(1);
    }

    @Test
    void environmentWithAnExtraKeyIsNotSent() throws Exception {
        host.thenReturn(SNAPSHOT.replace("\"uid\": 1004", "\"extra\": 1, \"uid\": 1004"))
                .thenReturn("");
        execute(detach("67609", 1), terminate(63600));
        assertOutcomes(Outcome.FAILED, Outcome.SIGNALLED);
        assertThat(host.requests().get(1).input()).doesNotContain("extra");
    }

    @Test
    void environmentAboveTheMaximumSizeIsNotSent() throws Exception {
        host.thenReturn(SNAPSHOT.replace("\"train\"", "\"" + "x".repeat(70_000) + "\""));
        execute(detach("67609", 1));
        assertOutcomes(Outcome.FAILED);
        assertThat(host.requests()).hasSize(1);
    }

    @Test
    void detachmentFailsIfTheDeviceIsStillAttached() throws Exception {
        host.thenReturn(SNAPSHOT).thenReturn("").thenReturn(SNAPSHOT);
        execute(detach("67609", 1));
        assertThat(results.values())
                .singleElement()
                .satisfies(result -> assertThat(result.detail()).contains("still attached"));
    }

    @Test
    void exitCodeCountsIfTheResultCannotBeObserved() throws Exception {
        host.thenReturn(SNAPSHOT).thenReturn("").thenInterrupt(ProblemCode.CONNECTION_LOST, "the connection was lost");
        execute(detach("67609", 1), terminate(63600));
        assertOutcomes(Outcome.DETACHED, Outcome.SIGNALLED);
        assertThat(results.values())
                .extracting(Result::detail)
                .as("it is told that nobody has seen it")
                .contains("according to genv; the host could not be observed again");
        host.thenReturn(SNAPSHOT).thenReturn("").then(() -> {
            throw new UnreachableException(ProblemCode.CONNECT_TIMEOUT, "no answer");
        });
        execute(detach("67609", 1));
        assertOutcomes(Outcome.DETACHED);
    }

    @Test
    void interruptedActionMayHaveBeenExecuted() throws Exception {
        host.thenReturn(SNAPSHOT).thenInterrupt(ProblemCode.TIMEOUT, "it took longer than 10 s");
        execute(terminate(63600), detach("67609", 1));
        assertThat(results.values())
                .containsOnly(Result.lost("it took longer than 10 s"))
                .hasSize(2);
        host.thenReturn(SNAPSHOT).thenExit(1, "", "Traceback (most recent call last):\n  File \"x\"\nStopIteration\n");
        execute(terminate(63600));
        assertThat(results.values()).containsExactly(Result.lost("genv exited with 1: StopIteration"));
    }

    @Test
    void unreachableMachineMeansNotExecuted() {
        host.thenReturn(SNAPSHOT).then(() -> {
            throw new UnreachableException(ProblemCode.HOST_UNREACHABLE, "no route");
        });
        assertThatThrownBy(() -> execute(terminate(63600))).isInstanceOf(UnreachableException.class);
        host.thenReturn(SNAPSHOT).thenExit(1, "", "sudo: a password is required\n");
        assertThatThrownBy(() -> execute(terminate(63600)))
                .isInstanceOfSatisfying(
                        UnreachableException.class,
                        refusal -> assertThat(refusal.code()).isEqualTo(ProblemCode.SUDO_REFUSED));
        host.thenInterrupt(ProblemCode.TIMEOUT, "it took too long");
        assertThatThrownBy(() -> execute(terminate(63600)))
                .isInstanceOfSatisfying(
                        UnreachableException.class,
                        refusal -> assertThat(refusal.code()).isEqualTo(ProblemCode.TIMEOUT));
        assertThat(results).isEmpty();
    }

    @Test
    void abandonedActionMayHaveBeenExecuted() {
        host.thenReturn(SNAPSHOT).then(() -> {
            throw new InterruptedException();
        });
        assertThatThrownBy(() -> execute(terminate(63600))).isInstanceOf(InterruptedException.class);
        assertThat(results.values())
                .singleElement()
                .satisfies(result -> assertThat(result.detail()).contains("may have been executed"));
    }

    private void execute(Action... actions) throws UnreachableException, InterruptedException {
        results.clear();
        agent.execute(host, List.of(actions), results::put);
    }

    private void assertOutcomes(Outcome... outcomes) {
        assertThat(results.values()).extracting(Result::outcome).containsExactlyInAnyOrder(outcomes);
    }

    private Action.Terminate terminate(int pid) {
        return new Action.Terminate("gpu-1", process(pid));
    }

    private GpuProcess process(int pid) {
        return snapshot.processes().stream()
                .filter(process -> process.pid() == pid)
                .findFirst()
                .orElseThrow();
    }

    private Environment environment(String eid) {
        return requireNonNull(snapshot.environmentsById().get(eid));
    }

    private Action.Detach detach(String eid, int device) {
        var attachment = requireNonNull(snapshot.devicesByIndex().get(device)).attachments().stream()
                .filter(each -> each.eid().equals(eid))
                .findFirst()
                .orElseThrow();
        return new Action.Detach("gpu-1", environment(eid), device, attachment);
    }
}

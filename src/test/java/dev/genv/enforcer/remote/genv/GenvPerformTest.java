package dev.genv.enforcer.remote.genv;

import static dev.genv.enforcer.remote.genv.ScriptedExchange.recorded;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.enforcement.Outcome;
import dev.genv.enforcer.enforcement.Result;
import dev.genv.enforcer.enforcement.UnreachableException;
import dev.genv.enforcer.model.Attachment;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Signal;
import dev.genv.enforcer.remote.Request;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GenvPerformTest {
    private static final String SNAPSHOT = recorded("snapshot.txt");
    private static final String GONE = recorded("snapshot-fresh.txt");

    private final ScriptedExchange host = new ScriptedExchange();
    private final GenvAgent agent =
            new GenvAgent("gpu-1", GenvLookTest.terms(true, "/var/tmp/genv", List.of(), List.of()));
    private final Map<Action, Result> results = new LinkedHashMap<>();
    private Snapshot judged;

    @BeforeEach
    void look() throws Exception {
        judged = agent.look(new ScriptedExchange().answers(SNAPSHOT), Set.of()).snapshot();
    }

    @Test
    void sendsWhatGenvSends() throws Exception {
        host.answers(SNAPSHOT).answers(recorded("execute-output.txt")).answers(recorded("snapshot-after.txt"));
        perform(end(63600), end(67708), detach("67609", 0), detach("67609", 1));
        assertThat(host.requests())
                .extracting(Request::command)
                .containsExactly(
                        "env LC_ALL=C sudo -n genv usage snapshot",
                        "env LC_ALL=C sudo -n genv usage execute",
                        "env LC_ALL=C sudo -n genv usage snapshot");
        assertThat(host.requests().get(1).input()).isEqualTo(recorded("execute.txt"));
        assertOutcomes(Outcome.SIGNALLED, Outcome.SIGNALLED, Outcome.DETACHED, Outcome.DETACHED);
    }

    @Test
    void sendsEmptyListsAsGenvDoes() throws Exception {
        host.answers(SNAPSHOT).answers("");
        perform(end(15990));
        assertThat(host.requests().get(1).input())
                .isEqualTo(
                        "{\"terminate\": {\"processes\": [{\"pid\": 15990, \"used_gpu_memory\": [{\"index\": 0, \"gpu_memory\": \"1100mi\"}], \"eid\": \"15971\"}]}, \"detach\": {}}");
        assertThat(host.isDone()).isTrue();
    }

    @Test
    void whoIsNotThereAnyMoreIsNotSent() throws Exception {
        host.answers(GONE);
        perform(end(63600), detach("67609", 1));
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
    void whoIsNoLongerWhatItWasIsSpared(String before, String now) throws Exception {
        var changed = SNAPSHOT.replaceFirst(before, now);
        assertThat(changed).isNotEqualTo(SNAPSHOT);
        host.answers(changed);
        perform(end(63600));
        assertThat(results.values()).containsExactly(Result.failed("it is no longer what it was when it was judged"));
        assertThat(host.requests()).hasSize(1);
    }

    @Test
    void whoChangesEveryTimeIsEndedAtLast() throws Exception {
        for (var round = 0; round < 2; round++) {
            host.answers(SNAPSHOT.replace("\"eid\": null", "\"eid\": \"" + round + "\""));
            perform(end(63600));
            assertOutcomes(Outcome.FAILED);
        }
        host.answers(SNAPSHOT.replace("\"eid\": null", "\"eid\": \"2\"")).answers("");
        perform(end(63600));
        assertOutcomes(Outcome.SIGNALLED);
        assertThat(host.requests().getLast().input()).contains("\"eid\": \"2\"");
    }

    @Test
    void neverAsksForWhatGenvCannotDo() throws Exception {
        host.answers(SNAPSHOT);
        perform(new Action.Terminate("gpu-1", process(63600), Signal.KILL));
        assertThat(results.values())
                .singleElement()
                .satisfies(result -> assertThat(result.detail()).contains("SIGTERM"));
        assertThat(host.requests()).hasSize(1);
    }

    @ParameterizedTest
    @CsvSource({"0", "1"})
    void neverEndsWhatIsNoProcess(int pid) throws Exception {
        host.answers(SNAPSHOT.replace("63600", Integer.toString(pid)));
        perform(new Action.Terminate(
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
    void genvSaysWhomItCouldNotEnd() throws Exception {
        host.answers(SNAPSHOT)
                .ends(
                        0,
                        recorded("execute-output.txt"),
                        "[ERROR] Not enough permissions to terminate process 63600\n[DEBUG] Process 67708 already terminated\n");
        perform(end(63600), end(67708), end(15990));
        assertOutcomes(Outcome.DENIED, Outcome.ALREADY_GONE, Outcome.SIGNALLED);
    }

    @Test
    void anAttachmentThatWasMadeAnewIsLeft() throws Exception {
        host.answers(SNAPSHOT.replace("10:02:11", "10:02:12"));
        perform(detach("67609", 1));
        assertOutcomes(Outcome.ALREADY_DETACHED);
        assertThat(host.requests()).hasSize(1);
    }

    /** genv detaches an environment from a device, and not one attachment. */
    @Test
    void anAttachmentBesideOneThatWasNotJudgedIsLeft() throws Exception {
        var twice = SNAPSHOT.replaceFirst(
                "(\\{\\s*\"eid\": \"67609\",\\s*\"gpu_memory\": null,\\s*\"time\": \")20/11/2026 10:02:11(\"\\s*})",
                "$120/11/2026 10:02:11$2, $120/11/2026 11:00:00$2");
        assertThat(twice).isNotEqualTo(SNAPSHOT);
        host.answers(twice);
        perform(detach("67609", 0));
        assertThat(results.values())
                .singleElement()
                .satisfies(result -> assertThat(result.detail()).contains("more than once"));
        host.answers(twice).answers("").answers(GONE);
        var other = new Attachment("67609", null, "20/11/2026 11:00:00");
        perform(detach("67609", 0), new Action.Detach("gpu-1", environment("67609"), 0, other));
        assertOutcomes(Outcome.DETACHED, Outcome.DETACHED);
        assertThat(host.requests().get(2).input().split("\"envs\"", -1)).hasSize(2);
    }

    /** genv looks for device N at place N. */
    @Test
    void devicesOutOfOrderAreLeft() throws Exception {
        host.answers(SNAPSHOT.replaceFirst("1(,\\s*\"total_memory\")", "3$1")
                .replaceFirst("2(,\\s*\"total_memory\")", "1$1"));
        var attachment = new Attachment("67609", null, "20/11/2026 10:02:11");
        perform(new Action.Detach("gpu-1", environment("67609"), 3, attachment));
        assertThat(results.values())
                .singleElement()
                .satisfies(result -> assertThat(result.detail()).contains("in order"));
        assertThat(host.requests()).hasSize(1);
    }

    @Test
    void anEnvironmentWithAKeyMoreWouldBreakGenvAndIsNotSent() throws Exception {
        host.answers(SNAPSHOT.replace("\"uid\": 1004", "\"extra\": 1, \"uid\": 1004"))
                .answers("");
        perform(detach("67609", 1), end(63600));
        assertOutcomes(Outcome.FAILED, Outcome.SIGNALLED);
        assertThat(host.requests().get(1).input()).doesNotContain("extra");
    }

    @Test
    void anEndlessEnvironmentIsNotSent() throws Exception {
        host.answers(SNAPSHOT.replace("\"train\"", "\"" + "x".repeat(70_000) + "\""));
        perform(detach("67609", 1));
        assertOutcomes(Outcome.FAILED);
        assertThat(host.requests()).hasSize(1);
    }

    @Test
    void whatIsStillAttachedAfterwardsWasNotDetached() throws Exception {
        host.answers(SNAPSHOT).answers("").answers(SNAPSHOT);
        perform(detach("67609", 1));
        assertThat(results.values())
                .singleElement()
                .satisfies(result -> assertThat(result.detail()).contains("still attached"));
    }

    @Test
    void whereNobodyCanLookAfterwardsTheExitCodeCounts() throws Exception {
        host.answers(SNAPSHOT).answers("").breaks(ProblemCode.CONNECTION_LOST, "the connection was lost");
        perform(detach("67609", 1), end(63600));
        assertOutcomes(Outcome.DETACHED, Outcome.SIGNALLED);
        assertThat(results.values())
                .extracting(Result::detail)
                .as("it is told that nobody has seen it")
                .contains("as genv says; the host could not be looked at again");
        host.answers(SNAPSHOT).answers("").does(() -> {
            throw new UnreachableException(ProblemCode.CONNECT_TIMEOUT, "no answer");
        });
        perform(detach("67609", 1));
        assertOutcomes(Outcome.DETACHED);
    }

    @Test
    void whatBrokeOffMayHaveBeenDone() throws Exception {
        host.answers(SNAPSHOT).breaks(ProblemCode.TIMEOUT, "it took longer than 10 s");
        perform(end(63600), detach("67609", 1));
        assertThat(results.values())
                .containsOnly(Result.lost("it took longer than 10 s"))
                .hasSize(2);
        host.answers(SNAPSHOT).ends(1, "", "Traceback (most recent call last):\n  File \"x\"\nStopIteration\n");
        perform(end(63600));
        assertThat(results.values()).containsExactly(Result.lost("genv ended with 1: StopIteration"));
    }

    @Test
    void whatDidNotReachTheHostWasNotDone() {
        host.answers(SNAPSHOT).does(() -> {
            throw new UnreachableException(ProblemCode.HOST_UNREACHABLE, "no route");
        });
        assertThatThrownBy(() -> perform(end(63600))).isInstanceOf(UnreachableException.class);
        host.answers(SNAPSHOT).ends(1, "", "sudo: a password is required\n");
        assertThatThrownBy(() -> perform(end(63600)))
                .isInstanceOfSatisfying(
                        UnreachableException.class,
                        refusal -> assertThat(refusal.code()).isEqualTo(ProblemCode.SUDO_REFUSED));
        host.breaks(ProblemCode.TIMEOUT, "it took too long");
        assertThatThrownBy(() -> perform(end(63600)))
                .isInstanceOfSatisfying(
                        UnreachableException.class,
                        refusal -> assertThat(refusal.code()).isEqualTo(ProblemCode.TIMEOUT));
        assertThat(results).isEmpty();
    }

    @Test
    void whatWasGivenUpMayHaveBeenDone() {
        host.answers(SNAPSHOT).does(() -> {
            throw new InterruptedException();
        });
        assertThatThrownBy(() -> perform(end(63600))).isInstanceOf(InterruptedException.class);
        assertThat(results.values())
                .singleElement()
                .satisfies(result -> assertThat(result.detail()).contains("may have been done"));
    }

    private void perform(Action... actions) throws UnreachableException, InterruptedException {
        results.clear();
        agent.perform(host, List.of(actions), results::put);
    }

    private void assertOutcomes(Outcome... outcomes) {
        assertThat(results.values()).extracting(Result::outcome).containsExactlyInAnyOrder(outcomes);
    }

    private Action.Terminate end(int pid) {
        return new Action.Terminate("gpu-1", process(pid));
    }

    private GpuProcess process(int pid) {
        return judged.processes().stream()
                .filter(process -> process.pid() == pid)
                .findFirst()
                .orElseThrow();
    }

    private Environment environment(String eid) {
        return requireNonNull(judged.environmentsById().get(eid));
    }

    private Action.Detach detach(String eid, int device) {
        var attachment = requireNonNull(judged.devicesByIndex().get(device)).attachments().stream()
                .filter(each -> each.eid().equals(eid))
                .findFirst()
                .orElseThrow();
        return new Action.Detach("gpu-1", environment(eid), device, attachment);
    }
}

package dev.genv.enforcer.remote.genv;

import static dev.genv.enforcer.remote.genv.ScriptedCommandRunner.recorded;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.remote.CommandRequest;
import org.junit.jupiter.api.Test;

class GenvExecutionTest extends GenvExecutionSuite {
    @Test
    void sendsTheSameJsonAsGenv() throws Exception {
        connection
                .thenReturn(SNAPSHOT)
                .thenReturn(recorded("execute-output.txt"))
                .thenReturn(recorded("snapshot-after.txt"));
        execute(terminate(63600), terminate(67708), detach("67609", 0), detach("67609", 1));
        assertThat(connection.requests())
                .extracting(CommandRequest::command)
                .containsExactly(
                        "env LC_ALL=C sudo -n genv usage snapshot",
                        "env LC_ALL=C sudo -n genv usage execute",
                        "env LC_ALL=C sudo -n genv usage snapshot");
        assertThat(connection.requests().get(1).input()).isEqualTo(recorded("execute.txt"));
        assertOutcomes(Outcome.SIGNALLED, Outcome.SIGNALLED, Outcome.DETACHED, Outcome.DETACHED);
    }

    @Test
    void sendsEmptyListsLikeGenv() throws Exception {
        connection.thenReturn(SNAPSHOT).thenReturn("");
        execute(terminate(15990));
        assertThat(connection.requests().get(1).input())
                .isEqualTo(
                        "{\"terminate\": {\"processes\": [{\"pid\": 15990, \"used_gpu_memory\": [{\"index\": 0, \"gpu_memory\": \"1100mi\"}], \"eid\": \"15971\"}]}, \"detach\": {}}");
        assertThat(connection.isFinished()).isTrue();
    }

    @Test
    void processAndAttachmentThatAreGoneAreNotSent() throws Exception {
        connection.thenReturn(FRESH_SNAPSHOT);
        execute(terminate(63600), detach("67609", 1));
        assertOutcomes(Outcome.ALREADY_GONE, Outcome.ALREADY_DETACHED);
        assertThat(connection.requests()).hasSize(1);
    }

    @Test
    void exitCodeCountsIfTheResultCannotBeObserved() throws Exception {
        connection
                .thenReturn(SNAPSHOT)
                .thenReturn("")
                .thenInterrupt(ProblemCode.CONNECTION_LOST, "the connection was lost");
        execute(detach("67609", 1), terminate(63600));
        assertOutcomes(Outcome.DETACHED, Outcome.SIGNALLED);
        assertThat(results.values())
                .extracting(Result::detail)
                .as("the result reports that it was not observed")
                .contains("according to genv; the host could not be observed again");
        connection.thenReturn(SNAPSHOT).thenReturn("").then(() -> {
            throw new UnreachableException(ProblemCode.CONNECT_TIMEOUT, "no answer");
        });
        execute(detach("67609", 1));
        assertOutcomes(Outcome.DETACHED);
    }

    @Test
    void interruptedActionMayHaveBeenExecuted() throws Exception {
        connection.thenReturn(SNAPSHOT).thenInterrupt(ProblemCode.TIMEOUT, "it took longer than 10 s");
        execute(terminate(63600), detach("67609", 1));
        assertThat(results.values())
                .containsOnly(Result.lost("it took longer than 10 s"))
                .hasSize(2);
        connection
                .thenReturn(SNAPSHOT)
                .thenExit(1, "", "Traceback (most recent call last):\n  File \"x\"\nStopIteration\n");
        execute(terminate(63600));
        assertThat(results.values()).containsExactly(Result.lost("genv exited with 1: StopIteration"));
    }

    @Test
    void unreachableMachineMeansNotExecuted() {
        connection.thenReturn(SNAPSHOT).then(() -> {
            throw new UnreachableException(ProblemCode.HOST_UNREACHABLE, "no route");
        });
        assertThatThrownBy(() -> execute(terminate(63600))).isInstanceOf(UnreachableException.class);
        connection.thenReturn(SNAPSHOT).thenExit(1, "", "sudo: a password is required\n");
        assertThatThrownBy(() -> execute(terminate(63600)))
                .isInstanceOfSatisfying(
                        UnreachableException.class,
                        refusal -> assertThat(refusal.code()).isEqualTo(ProblemCode.SUDO_REFUSED));
        connection.thenInterrupt(ProblemCode.TIMEOUT, "it took too long");
        assertThatThrownBy(() -> execute(terminate(63600)))
                .isInstanceOfSatisfying(
                        UnreachableException.class,
                        refusal -> assertThat(refusal.code()).isEqualTo(ProblemCode.TIMEOUT));
        assertThat(results).isEmpty();
    }

    @Test
    void abandonedActionMayHaveBeenExecuted() {
        connection.thenReturn(SNAPSHOT).then(() -> {
            throw new InterruptedException();
        });
        assertThatThrownBy(() -> execute(terminate(63600))).isInstanceOf(InterruptedException.class);
        assertThat(results.values())
                .singleElement()
                .satisfies(result -> assertThat(result.detail()).contains("may have been executed"));
    }
}

package dev.genv.enforcer.remote.genv;

import static dev.genv.enforcer.remote.genv.ScriptedCommandRunner.recorded;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Action.Signal;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GenvTerminationTest extends GenvExecutionSuite {
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
        connection.thenReturn(changed);
        execute(terminate(63600));
        assertThat(results.values())
                .containsExactly(Result.failed("its identity has changed since the rules were checked"));
        assertThat(connection.requests()).hasSize(1);
    }

    @Test
    void processThatChangesAtEveryCheckIsTerminatedAtTheThirdAttempt() throws Exception {
        for (var round = 0; round < 2; round++) {
            connection.thenReturn(SNAPSHOT.replace("\"eid\": null", "\"eid\": \"" + round + "\""));
            execute(terminate(63600));
            assertOutcomes(Outcome.FAILED);
        }
        connection
                .thenReturn(SNAPSHOT.replace("\"eid\": null", "\"eid\": \"2\""))
                .thenReturn("");
        execute(terminate(63600));
        assertOutcomes(Outcome.SIGNALLED);
        assertThat(connection.requests().getLast().input()).contains("\"eid\": \"2\"");
    }

    @Test
    void refusesSigkillWhichGenvCannotSend() throws Exception {
        connection.thenReturn(SNAPSHOT);
        execute(new Action.Terminate("gpu-1", process(63600), Signal.KILL));
        assertThat(results.values())
                .singleElement()
                .satisfies(result -> assertThat(result.detail()).contains("SIGTERM"));
        assertThat(connection.requests()).hasSize(1);
    }

    @ParameterizedTest
    @CsvSource({"0", "1"})
    void neverTerminatesInvalidPid(int pid) throws Exception {
        connection.thenReturn(SNAPSHOT.replace("63600", Integer.toString(pid)));
        execute(new Action.Terminate(
                "gpu-1",
                new GpuProcess(
                        new ProcessId(pid, 0),
                        null,
                        "",
                        new Membership.Outside(),
                        process(63600).usage())));
        assertOutcomes(Outcome.SKIPPED_PROTECTED);
        assertThat(connection.requests()).hasSize(1);
    }

    @Test
    void reportsProcessesThatGenvCouldNotTerminate() throws Exception {
        connection
                .thenReturn(SNAPSHOT)
                .thenExit(
                        0,
                        recorded("execute-output.txt"),
                        "[ERROR] Not enough permissions to terminate process 63600\n"
                                + "[DEBUG] Process 67708 already terminated\n");
        execute(terminate(63600), terminate(67708), terminate(15990));
        assertOutcomes(Outcome.DENIED, Outcome.ALREADY_GONE, Outcome.SIGNALLED);
    }
}

package dev.genv.enforcer.remote.agent.python;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The agent signals real processes; what the kernel shows of them may be fake. */
@Timeout(600)
class PythonActionTest extends PythonActionFixture {

    @Test
    void sendsSigtermThroughAHandle() throws Exception {
        machine.terminate(observe(), child.startTime());
        var answer = machine.act();
        assertThat(answer.at("/results/0/result").asText()).isEqualTo("SIGNALLED");
        assertThat(answer.at("/results/0/environ").isNull()).isTrue();
        assertThat(answer.get("handles").asText()).isEqualTo("pidfd");
        assertThat(answer.get("leased").isNull()).isTrue();
        assertThat(answer.at("/lock/outcome").asText()).isEqualTo("NOT_ATTEMPTED");
        assertThat(answer.get("detached").isNull()).isTrue();
        assertThat(child.awaitExit()).isEqualTo(143);
    }

    @Test
    void sendsSigkillIfPlanned() throws Exception {
        machine.terminate(observe(), child.startTime()).put("signal", "KILL");
        assertThat(result()).isEqualTo("SIGNALLED");
        assertThat(child.awaitExit()).isEqualTo(137);
    }

    /** So it is on systems without pidfd_open(2). */
    @Test
    void sendsSignalAfterAComparisonWithoutHandles() throws Exception {
        machine.terminate(observe(), child.startTime());
        var input = machine.input("act").replaceFirst("PIDFD_OPEN = 424, 434", "PIDFD_OPEN = 9999, 9999");
        var answer = machine.run(input).answer();
        assertThat(answer.get("handles").asText()).isEqualTo("comparison");
        assertThat(answer.at("/results/0/result").asText()).isEqualTo("SIGNALLED");
        assertThat(child.awaitExit()).isEqualTo(143);
    }

    @Test
    void pidThatIsNowThatOfAThreadIsNoProcess() throws Exception {
        machine.terminate(observe(), 1).put("pid", CurrentProcess.otherThread());
        var answer = machine.act();
        assertThat(answer.at("/results/0/result").asText()).isEqualTo("GONE");
        assertThat(answer.get("handles").asText()).isEqualTo("pidfd");
    }

    @Test
    void announcesEachSignalBeforeIt() throws Exception {
        try (var other = Child.inEnvironment("15971")) {
            machine.nvidiaSmi.process(0, other.pid(), "1");
            var processes = machine.observe().get("processes");
            for (var process : processes) {
                var start = process.get("pid").asInt() == child.pid() ? child.startTime() : other.startTime();
                machine.terminate(process, start);
            }
            machine.terminate(processes.get(0), 1);
            var output = machine.run(machine.input("act"));
            assertThat(output.lines()).hasSize(3).startsWith("begun 0", "begun 1");
            assertThat(output.answer().at("/results/2/result").asText()).isEqualTo("GONE");
        }
    }

    /** The service no longer listens, and it cannot learn what was done. */
    @Test
    void sendsNothingIfItCannotAnnounceIt() throws Exception {
        machine.terminate(observe(), child.startTime());
        machine.command = List.of("sh", "-c", "exec %s -I -S - >/dev/full".formatted(PythonMachine.PYTHON));
        var output = machine.run(machine.input("act").replace("    write(1, b\"\\n\")", "    pass"));
        assertThat(output.errors()).contains("No space left on device");
        assertThat(child.isAlive()).isTrue();
    }

    @Test
    void terminatesProcessesOfAnyOrNoEnvironment() throws Exception {
        try (var outside = Child.withEnvironment(Map.of());
                var empty = Child.withEnvironment(Map.of("GENV_ENVIRONMENT_ID", ""));
                var longest = Child.inEnvironment("x".repeat(5000));
                var odd = Child.inEnvironment("\n' \" \\ $(id)`@0 end ä")) {
            for (var each : List.of(outside, empty, longest, odd)) {
                machine.nvidiaSmi.noProcesses().process(0, each.pid(), "1");
                machine.request.putArray("terminations");
                machine.terminate(observe(), each.startTime());
                assertThat(result()).isEqualTo("SIGNALLED");
                assertThat(each.awaitExit()).isEqualTo(143);
            }
        }
    }

    @Test
    void neverSignalsInitOrNonPids() throws Exception {
        var process = (ObjectNode) observe();
        for (var pid : List.of(1, 0, -1)) {
            machine.terminate(process.put("pid", pid), child.startTime());
        }
        var results = machine.act().get("results");
        assertThat(results)
                .hasSize(3)
                .allSatisfy(result -> assertThat(result.get("result").asText()).isEqualTo("PROTECTED"));
    }

    @Test
    void expiredActionIsNotExecuted() throws Exception {
        fakeProcess();
        plan();
        machine.request.put("deadline", 359_999);
        assertThat(result()).isEqualTo("LATE");
        machine.request.put("deadline", 360_000).put("boot", "another");
        assertThat(result()).isEqualTo("LATE");
        assertThat(child.isAlive()).isTrue();
        machine.request.put("boot", PythonMachine.BOOT);
        assertThat(result()).isEqualTo("SIGNALLED");
        assertThat(child.awaitExit()).isEqualTo(143);
    }

    @Test
    void missingPrivilegeYieldsDenied() throws Exception {
        Requirements.root();
        fakeProcess();
        plan();
        machine.command =
                List.of("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", PythonMachine.PYTHON, "-");
        assertThat(result()).isEqualTo("DENIED");
        assertThat(child.isAlive()).isTrue();
    }
}

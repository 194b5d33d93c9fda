package dev.genv.enforcer.remote.agent.python;

import static dev.genv.enforcer.remote.agent.python.PythonMachine.bytes;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The agent asks nvidia-smi for what is measured on the GPUs. */
@Timeout(600)
class PythonGpuStatusTest {
    private static final String QUERY = "--query-gpu=index,memory.used,memory.total,temperature.gpu,utilization.gpu";
    private static final String COUNT = "echo \"$1\" >>\"$0.calls\"; ";

    @TempDir
    private Path folder;

    private PythonMachine machine;

    @BeforeEach
    void createMachine() throws IOException {
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        machine = new PythonMachine(folder);
        machine.gpu().put("status", QUERY);
        machine.nvidiaSmi.status("0, 1, 2, 61, 87\n").fault(COUNT);
    }

    @Test
    void deliversTheAnswer() throws Exception {
        assertThat(bytes(machine.observe().at("/gpu/status/value/stdout"))).isEqualTo("0, 1, 2, 61, 87\n");
    }

    @Test
    void doesNotAskUnlessItIsAskedFor() throws Exception {
        machine.gpu().put("status", "");
        assertSkipped("");
        machine.gpu().put("status", QUERY).put("skipStatus", true);
        assertSkipped("nvidia-smi gave no answer in time in an earlier observation: it is not asked for a while");
        assertThat(Files.readString(machine.nvidiaSmi.path().resolveSibling("nvidia-smi.calls")))
                .contains("--query-compute-apps")
                .doesNotContain(QUERY);
    }

    @Test
    void doesNotAskAToolThatFails() throws Exception {
        machine.gpu().put("skip", true);
        assertSkipped("");
        machine.gpu().put("skip", false).put("program", "nosuchtool");
        assertSkipped("");
    }

    private void assertSkipped(String reason) throws Exception {
        var status = machine.observe().at("/gpu/status");
        assertThat(status.path("failure").asText()).isEqualTo("SKIPPED");
        assertThat(status.path("reason").asText()).isEqualTo(reason);
    }

    @Test
    void aHangCostsNothingElse() throws Exception {
        machine.gpu().put("timeout", 1);
        machine.nvidiaSmi.fault("case $1 in *temperature*) exec sleep 600 ;; esac");
        var answer = machine.run(machine.input("observe")).answer();
        assertThat(answer.get("toolHangs").asBoolean()).isFalse();
        assertThat(answer.at("/facts/gpu/status/failure").asText()).isEqualTo("TIMEOUT");
        assertThat(answer.at("/facts/gpu/status/reason").asText()).isEqualTo("nvidia-smi did not exit within 1.00 s");
        assertThat(answer.at("/facts/gpu/devices/value/exitCode").asInt(-1)).isZero();
        assertThat(answer.at("/facts/gpu/processes/value/exitCode").asInt(-1)).isZero();
        assertThat(answer.at("/facts/state/directory/present").isObject()).isTrue();
    }

    @Test
    void deliversTheErrorOfADriverThatDoesNotKnowAField() throws Exception {
        machine.nvidiaSmi.fault("case $1 in *temperature*) echo 'is not a valid field to query.'; exit 2 ;; esac");
        var facts = machine.observe();
        assertThat(facts.at("/gpu/status/value/exitCode").asInt()).isEqualTo(2);
        assertThat(facts.at("/gpu/devices/value/exitCode").asInt(-1)).isZero();
    }
}

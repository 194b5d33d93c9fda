package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What only the agent does with nvidia-smi; {@code ToolTableTest} and {@code GpuRows} have what both hands do. */
class PythonGpuTest extends PythonFixture {
    private Child child;

    @BeforeEach
    void listChild() throws IOException {
        child = Child.withEnvironment(Map.of());
        machine.nvidiaSmi.process(0, child.pid(), "7");
    }

    @AfterEach
    void endChild() {
        child.close();
    }

    /** It did not end when it was killed, or only its measurements took too long. */
    @Test
    void doesNotRunWhatHungBefore() throws Exception {
        var calls = folder.resolve("calls");
        machine.nvidiaSmi.fault("echo \"$1\" >>%s; ".formatted(calls));
        machine.request.put("deviceStatus", true);
        machine.omitted().put("status", true);
        assertThat(machine.facts().at("/gpu/status/failure").asText()).isEqualTo("SKIPPED");
        assertThat(Files.readString(calls)).contains("--query-compute-apps").doesNotContain("temperature");
        Files.delete(calls);
        machine.omitted().put("tool", true).put("status", false);
        assertFailed(machine.facts(), "SKIPPED", "nvidia-smi hung in an earlier observation");
        assertThat(calls).doesNotExist();
    }

    @Test
    void refusesMoreThanTheMaximumNumberOfProcesses() throws Exception {
        var lines = IntStream.range(100_000, 104_097)
                .mapToObj("echo 'GPU-0, %d, 1'\n"::formatted)
                .toList();
        machine.nvidiaSmi.fault("case $1 in *compute*) " + String.join("", lines) + ";; esac");
        var facts = machine.facts();
        assertFailed(facts, "OTHER", "nvidia-smi lists more processes than can be observed: 4098");
        assertThat(facts.get("processes")).isEmpty();
        machine.nvidiaSmi.fault("case $1 in *compute*) " + String.join("", lines.subList(0, 4000)) + ";; esac");
        assertThat(machine.facts().get("processes")).hasSize(4001);
    }

    @Test
    void hangingStatusCostsNothingElse() throws Exception {
        machine.request.put("deviceStatus", true);
        machine.nvidiaSmi.fault("case $1 in *temperature*) exec sleep 600 ;; esac");
        var answer = machine.run(machine.input("observe")).answer();
        assertThat(answer.get("toolHangs").asBoolean()).isFalse();
        assertThat(answer.at("/facts/gpu/status/failure").asText()).isEqualTo("TIMEOUT");
        assertThat(answer.at("/facts/gpu/status/reason").asText()).isEqualTo("nvidia-smi did not exit within 5.00 s");
        assertThat(answer.at("/facts/gpu/devices/value/exitCode").asInt(-1)).isZero();
        assertThat(answer.at("/facts/gpu/processes/value/exitCode").asInt(-1)).isZero();
        assertThat(answer.at("/facts/state/directory/present").isObject()).isTrue();
    }

    private static void assertFailed(JsonNode facts, String failure, String reason) {
        assertThat(facts.at("/gpu/processes/failure").asText()).isEqualTo(failure);
        assertThat(facts.at("/gpu/processes/reason").asText()).startsWith(reason);
    }
}

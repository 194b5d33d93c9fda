package dev.genv.enforcer.remote.agent.python.process;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.remote.agent.AgentJson;
import dev.genv.enforcer.remote.agent.Answer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Base64;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What users make so long that the answer would be too long, without which no rule acts on the machine. */
@Timeout(600)
class PythonAnswerLengthTest extends PythonProcessFixture {
    private static final int MOST = 16 << 20;
    private static final int LARGEST_STATE_FILE = 2 << 20;
    private static final List<String> FILES = List.of("envs.json", "devices.json");
    private static final String UNIT = "/user.slice/%s/job.scope".formatted("x".repeat(4000));

    @Test
    void theRelationsAreOmittedFirst() throws Exception {
        writeLargestState();
        machine.setGpuProcesses(IntStream.range(1000, 1300).toArray());
        for (var pid = 1000; pid < 1700; pid++) {
            proc.process(pid)
                    .environ("title", "GENV_ENVIRONMENT_ID=" + "x".repeat(4096))
                    .cgroup(UNIT);
        }
        var facts = shortened();
        assertThat(facts.at("/relatedOmission/ofAnyUser").asBoolean()).isTrue();
        assertThat(facts.get("related")).isEmpty();
        assertThat(facts.get("processes")).hasSize(300).allSatisfy(process -> {
            assertThat(process.at("/environ/value/id").asText()).hasSizeGreaterThan(4096);
            assertThat(process.at("/cgroup/failure").asText()).isEqualTo("SKIPPED");
            assertThat(process.at("/namespacePids/failure").asText()).isEqualTo("SKIPPED");
        });
        assertThat(facts.at("/liveness/processes/value").isArray()).isTrue();
    }

    @Test
    void thenLongIdsAreUnknown() throws Exception {
        writeLargestState();
        machine.setGpuProcesses(IntStream.range(1000, 2500).toArray());
        for (var pid = 1000; pid < 2500; pid++) {
            proc.process(pid).environ("GENV_ENVIRONMENT_ID=" + (pid == 1000 ? "15971" : "x".repeat(4096)));
        }
        var processes = shortened().get("processes");
        assertThat(id(processes.get(0))).isEqualTo("15971");
        assertThat(processes.get(1499).get("environ"))
                .isEqualTo(new ObjectMapper()
                        .readTree("{\"failure\":\"OTHER\",\"reason\":\"the answer would be too long\"}"));
    }

    private void writeLargestState() throws Exception {
        for (var name : FILES) {
            Files.writeString(machine.state.resolve(name), "{}" + " ".repeat(LARGEST_STATE_FILE - 2));
        }
    }

    /** The facts of an answer that the service accepts. */
    private JsonNode shortened() throws Exception {
        var input = machine.input("observe");
        var ask = "    facts[\"gpu\"], pids, tool_hangs = ";
        assertThat(input).contains(ask);
        var change = new StringBuilder(); // between the two readings
        for (var name : FILES) {
            change.append("    open('%s', 'w').write('{}' + '\\n' * %d)\n"
                    .formatted(machine.state.resolve(name), LARGEST_STATE_FILE - 2));
        }
        var output = machine.run(input.replace(ask, change + ask));
        assertThat(output.text()).hasSizeLessThan(MOST);
        var answer = output.answer();
        assertThat(AgentJson.read(Bytes.of(answer.toString().getBytes(StandardCharsets.UTF_8)), Answer.class))
                .isInstanceOf(Answer.Observed.class);
        assertThat(Base64.getDecoder()
                        .decode(answer.at("/facts/state/envs/present/content").asText()))
                .hasSize(LARGEST_STATE_FILE);
        assertThat(Base64.getDecoder()
                        .decode(answer.at("/facts/earlierState/devices/present/content")
                                .asText()))
                .hasSize(LARGEST_STATE_FILE);
        return answer.get("facts");
    }
}

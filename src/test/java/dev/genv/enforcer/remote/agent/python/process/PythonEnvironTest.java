package dev.genv.enforcer.remote.agent.python.process;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.linux.Environ;
import dev.genv.enforcer.remote.agent.python.PythonMachine;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How the agent recognises an environ that is not as execve(2) wrote it. */
@Timeout(600)
class PythonEnvironTest {
    private static final int LISTED = 500;

    @TempDir
    private Path folder;

    private PythonMachine machine;
    private FakeProc proc;

    @BeforeEach
    void create() throws IOException {
        machine = new PythonMachine(folder);
        proc = machine.useFakeProc(folder.resolve("proc"));
        machine.setGpuProcesses(LISTED);
        proc.process(400);
    }

    @Test
    void intactEnvironNeedsNoRelations() throws Exception {
        listedProcess("A=B\0C=\0");
        var facts = machine.observe();
        assertThat(facts.get("related")).isEmpty();
        assertThat(facts.at("/relatedOmission/ofAnyUser").asBoolean()).isFalse();
        assertThat(listed(facts).at("/namespacePids/failure").asText()).isEqualTo("SKIPPED");
    }

    @Test
    void environThatIsNotAsExecveWroteItNeedsRelations() throws Exception {
        listedProcess("A=B\0").overwrite();
        assertThat(machine.observe().get("related").findValuesAsText("pid")).containsExactly("400");
        changeAddress(listedProcess("A=B\0"), 50, 1);
        assertThat(machine.observe().get("related").findValuesAsText("pid")).containsExactly("400");
        changeAddress(listedProcess("A=B\0"), 51, 1);
        assertThat(machine.observe().get("related").findValuesAsText("pid")).containsExactly("400");
        listedProcess("").withoutEnvironment();
        assertThat(machine.observe().get("related").findValuesAsText("pid"))
                .as("while it exits")
                .isEmpty();
    }

    @Test
    void wellFormedAsInJava() throws Exception {
        var environs = List.of(
                "",
                "\0",
                "\0\0",
                "A=B\0",
                "A=B",
                "A=\0",
                "=\0",
                "=A\0",
                "A\0",
                "A=B\0C\0",
                "A=B\0\0",
                "\0A=B\0",
                "A=B\0C=D\0",
                "A==\0",
                "A=\0=B\0",
                "A\0B=\0",
                "A=B\0=\0",
                "Ä=\0",
                "A=B\0 ");
        machine.setGpuProcesses(IntStream.range(100, 100 + environs.size()).toArray());
        for (var i = 0; i < environs.size(); i++) {
            proc.process(100 + i).environ(environs.get(i).getBytes(StandardCharsets.UTF_8));
        }
        var wellFormed = machine.observe().get("processes").findValues("wellFormed").stream()
                .map(JsonNode::asBoolean)
                .toList();
        assertThat(wellFormed)
                .isEqualTo(environs.stream()
                        .map(environ -> Environ.isWellFormed(environ.getBytes(StandardCharsets.UTF_8)))
                        .toList())
                .contains(true, false);
    }

    private FakeProc.FakeProcess listedProcess(String environ) throws IOException {
        return proc.process(LISTED).parent(400).environ(environ.getBytes(StandardCharsets.UTF_8));
    }

    /** Changes a field of proc_pid_stat(5) by a number. */
    private static void changeAddress(FakeProc.FakeProcess process, int field, long change) throws IOException {
        var fields = Files.readString(process.file("stat")).strip().split(" ", -1);
        fields[field - 1] = new BigInteger(fields[field - 1])
                .add(BigInteger.valueOf(change))
                .toString();
        Files.writeString(process.file("stat"), String.join(" ", fields) + "\n");
    }

    private JsonNode listed(JsonNode facts) {
        return facts.get("processes").get(0);
    }
}

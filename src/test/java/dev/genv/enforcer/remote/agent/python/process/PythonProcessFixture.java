package dev.genv.enforcer.remote.agent.python.process;

import static dev.genv.enforcer.remote.agent.python.PythonMachine.bytes;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.remote.agent.python.PythonMachine;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Fifo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A fake {@code /proc} with processes that the GPU tool lists. */
public abstract class PythonProcessFixture {
    @TempDir
    Path folder;

    PythonMachine machine;
    FakeProc proc;
    final Set<Integer> listed = new TreeSet<>();

    @BeforeEach
    void create() throws IOException {
        machine = new PythonMachine(folder);
        proc = machine.useFakeProc(folder.resolve("proc"));
    }

    public static void hang(FakeProc.FakeProcess process, String file) throws Exception {
        Files.delete(process.file(file));
        Fifo.at(process.file(file));
    }

    final FakeProc.FakeProcess process(int pid) throws IOException {
        listed.add(pid);
        machine.setGpuProcesses(listed.stream().mapToInt(Integer::intValue).toArray());
        return proc.process(pid);
    }

    static String id(JsonNode process) {
        return bytes(process.at("/environ/value/id"));
    }

    static JsonNode onlyProcess(JsonNode facts) {
        assertThat(facts.get("processes")).hasSize(1);
        return facts.at("/processes/0");
    }
}

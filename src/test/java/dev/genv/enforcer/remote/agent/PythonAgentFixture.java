package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.remote.agent.AgentCommand.AgentProgram;
import dev.genv.enforcer.remote.agent.python.PythonMachine;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A machine with one device for the agent. */
abstract class PythonAgentFixture {
    static final AgentProgram PROGRAM = AgentProgram.withIdleTime(Duration.ofMinutes(10));

    @TempDir
    Path folder;

    PythonMachine machine;

    @BeforeEach
    void create() throws IOException {
        machine = new PythonMachine(folder);
        machine.files().device(0).write();
    }

    String observe() {
        return machine.line("observe");
    }
}

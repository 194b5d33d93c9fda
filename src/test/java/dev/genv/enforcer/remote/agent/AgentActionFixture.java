package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** A machine on which one real process of an environment uses a device, and the actions on that process. */
abstract class AgentActionFixture {
    static final Result SIGNALLED = Result.of(Outcome.SIGNALLED);
    final Path folder;
    final Machine machine;
    final Child child = Child.inEnvironment("15971");

    AgentActionFixture(Path folder) throws IOException {
        this.folder = folder;
        machine = new Machine(folder);
    }

    record FakeMachine(AgentHost agent, FakeProc.FakeProcess process) {}

    /** The real child, for which {@code /proc} shows what the test writes. */
    final FakeMachine fakeMachine() throws IOException {
        var proc = machine.useFakeProc(folder.resolve("proc"));
        var process = proc.process(child.pid()).uid(1003).environ("GENV_ENVIRONMENT_ID=15971");
        return new FakeMachine(machine.agent(), process);
    }

    final GpuProcess observe(AgentHost agent) throws Exception {
        var processes = agent.observe(machine.python, Set.of()).processes();
        assertThat(processes).hasSize(1);
        return processes.getFirst();
    }

    static Action.Terminate terminate(GpuProcess process) {
        return new Action.Terminate("gpu-1", process);
    }

    final Result execute(AgentHost agent, Action action) throws Exception {
        var results = new HashMap<Action, Result>();
        agent.execute(machine.python, List.of(action), results::put);
        return Objects.requireNonNull(results.get(action));
    }

    @BeforeEach
    void writeState() throws IOException {
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        machine.nvidiaSmi.process(0, child.pid(), "1542");
        machine.files().device(0).device(1).write();
    }

    @AfterEach
    void endChild() {
        child.close();
    }
}

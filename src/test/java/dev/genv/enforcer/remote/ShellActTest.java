package dev.genv.enforcer.remote;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Outcome;
import dev.genv.enforcer.enforcement.Result;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.testsupport.Child;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Ends real processes and changes real files, with the real script in each shell. */
@Timeout(60)
@ParameterizedClass
@MethodSource("shells")
class ShellActTest {
    private final Machine machine;

    ShellActTest(String shell, @TempDir Path folder) throws IOException {
        machine = new Machine(folder, shell);
    }

    static Stream<String> shells() {
        return OneShell.installed();
    }

    @Test
    void endsAProcess() throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            machine.smi.process(0, child.pid(), "1542");
            machine.files().device(0).device(1).write();
            var agent = machine.agent();
            var snapshot = agent.look(machine.shell, Set.of()).snapshot();
            var action = new Action.Terminate("gpu-1", snapshot.processes().getFirst());
            assertThat(perform(agent, action)).isEqualTo(Result.of(Outcome.SIGNALLED));
            assertThat(child.awaitEnd()).isEqualTo(143);
        }
    }

    @Test
    void detaches() throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            machine.files()
                    .own("15971", "4g", child.pid())
                    .device(0, "15971")
                    .device(1)
                    .write();
            var agent = machine.agent();
            var snapshot = agent.look(machine.shell, Set.of()).snapshot();
            var action = new Action.Detach(
                    "gpu-1",
                    snapshot.environments().getFirst(),
                    0,
                    snapshot.devices().getFirst().attachments().getFirst());
            assertThat(perform(agent, action)).isEqualTo(Result.of(Outcome.DETACHED));
            assertThat(machine.state.resolve("devices.json"))
                    .hasContent(machine.files().device(0).device(1).devicesJson());
        }
    }

    private Result perform(ShellAgent agent, Action action) throws Exception {
        var results = new HashMap<Action, Result>();
        agent.perform(machine.shell, List.of(action), results::put);
        return Objects.requireNonNull(results.get(action));
    }
}

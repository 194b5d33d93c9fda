package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.Connection.ProgramRequest;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is known of calls whose answer is lost. */
@Timeout(600)
class AgentActionProgressTest {
    private final Machine machine;

    AgentActionProgressTest(@TempDir Path folder) throws IOException {
        machine = new Machine(folder);
    }

    /** An agent whose answer was lost may continue. An agent that has ended has announced all that it began. */
    @Test
    void onlyBegunActionsHaveAnUnknownResult() throws Exception {
        try (var first = Child.inEnvironment("15971");
                var second = Child.inEnvironment("15971")) {
            machine.nvidiaSmi.process(0, first.pid(), "1").process(0, second.pid(), "1");
            machine.files()
                    .ownEnv("15971", null, first.pid())
                    .device(0, "15971")
                    .device(1)
                    .write();
            for (var broken : Arrays.asList(
                    null,
                    new CommandResult.Interruption(ProblemCode.AGENT_KILLED, "it was ended"),
                    new CommandResult.Interruption(ProblemCode.TIMEOUT, "it took too long"))) {
                var agent = machine.agent();
                var snapshot = agent.observe(machine.python, Set.of());
                var actions = new ArrayList<Action>();
                snapshot.processes().forEach(process -> actions.add(new Action.Terminate("gpu-1", process)));
                actions.add(new Action.Detach(
                        "gpu-1",
                        snapshot.environments().getFirst(),
                        0,
                        snapshot.devices().getFirst().attachments().getFirst()));
                var results = new HashMap<Action, Result>();
                agent.execute(interruptAfterFirstAction(broken), actions, results::put);
                var known = broken == null || broken.code().equals(ProblemCode.AGENT_KILLED);
                assertThat(actions.stream()
                                .map(action -> Objects.requireNonNull(results.get(action))
                                        .uncertain()))
                        .containsExactly(true, !known, !known);
                assertThat(results.values())
                        .allSatisfy(result -> assertThat(result.detail())
                                .endsWith(result.uncertain() ? "; it may have been executed" : "; it was not started"));
            }
        }
    }

    /** A host that says it has begun with the first thing, and nothing more. */
    private static Machine.Answering interruptAfterFirstAction(CommandResult.@Nullable Interruption broken) {
        return request -> {
            var nonce = Machine.request(request).path("nonce").textValue();
            return new CommandResult(
                    "@%1$s begun 0\n@%1$s begun ".formatted(nonce), "", broken == null ? 1 : null, broken);
        };
    }

    /** Before it sends a signal it says so. */
    @Test
    void announcesEachActionBeforeItsExecution() throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            machine.nvidiaSmi.process(0, child.pid(), "1542");
            machine.files()
                    .ownEnv("15971", null, child.pid())
                    .device(0, "15971")
                    .device(1)
                    .write();
            var agent = machine.agent();
            var snapshot = agent.observe(machine.python, Set.of());
            var attachment = snapshot.devices().getFirst().attachments().getFirst();
            var output = new StringBuilder();
            machine.python.transformAnswers(answer -> {
                output.append(answer.output());
                return answer;
            });
            var actions = List.<Action>of(
                    new Action.Terminate("gpu-1", snapshot.processes().getFirst()),
                    new Action.Detach("gpu-1", snapshot.environments().getFirst(), 0, attachment));
            agent.execute(machine.python, actions, (_, _) -> {});
            assertThat(output.toString().replaceAll("@[0-9a-f-]+ ", "@ ")).contains("@ begun 0\n@ begun 2\n@ {");
            assertThat(machine.python.requests())
                    .extracting(ProgramRequest::isRepeatable)
                    .containsExactly(true, false);
        }
    }
}

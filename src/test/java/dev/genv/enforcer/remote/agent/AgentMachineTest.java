package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.Connection.ProgramRequest;
import dev.genv.enforcer.remote.agent.HostMemory.HangBackoff;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The service with the real agent; only the GPUs are fake, and in some tests the processes or the answers. */
class AgentMachineTest extends PythonFixture {
    private static final Membership SILENT = new Membership.Unknown("its environ does not answer");
    private static final Membership IN_A = new Membership.InEnvironment("a");
    private static final String VARIABLE_A = "GENV_ENVIRONMENT_ID=a";
    private static final String READ_ONLY_REASON =
            "another service acts on this host over SSH, or this one did before its restart, and that lease has not"
                    + " expired";

    @Test
    void reportsExitedProcesses() throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            var alive = new ProcessId(child.pid(), child.startTime());
            var former = new ProcessId(child.pid(), child.startTime() - 1);
            ProcessId gone;
            try (var other = Child.inEnvironment("15971")) {
                gone = new ProcessId(other.pid(), other.startTime());
                assertThat(machine.observe(alive, gone).details().ended()).isEmpty();
            }
            assertThat(machine.observe(alive, former, gone).details().ended()).isEqualTo(Set.of(former, gone));
        }
    }

    /** As during an execve(2) that does not end: whether it has exited is unknown. */
    @Test
    void processWhoseStatDoesNotAnswerHasNotEnded() throws Exception {
        var proc = machine.useFakeProc();
        var gone = new ProcessId(8, 1); // it is read first: after one that hangs only a short time would be left for it
        proc.process(9).hang("stat");
        assertThat(machine.observe(gone, new ProcessId(9, 1000)).details().ended())
                .containsExactly(gone);
    }

    @Test
    void secondServiceIsReadOnly() throws Exception {
        machine.nvidiaSmi.process(0, first.pid(), "1542");
        machine.files().device(0).device(1).write();
        assertThat(machine.observe().details().readOnlyReason()).isNull();
        machine.service = "two";
        agent = machine.agent();
        var observation = agent.observe();
        assertThat(observation.details().readOnlyReason()).isEqualTo(READ_ONLY_REASON);
        actions = List.of(new Action.Terminate("gpu-1", observation.processes().getFirst()));
        assertThat(execute(machine.python::request)).containsExactly(Result.failed(READ_ONLY_REASON));
    }

    /** A process can lay its memory where nobody answers. Then it alone is not known. */
    @Test
    void silentProcessIsReadAgainOnlyAfterAPause() throws Exception {
        var proc = machine.useFakeProc();
        var agent = machine.agent();
        machine.setGpuProcesses(7, 8);
        var silent = proc.process(7);
        silent.hang("environ");
        proc.process(8).environ(VARIABLE_A);
        for (var i = 0; i < 2; i++) {
            assertThat(agent.observe().processes())
                    .extracting(GpuProcess::membership)
                    .containsExactly(SILENT, IN_A);
        }
        assertThat(PythonMachine.request(machine.python.requests.getLast())
                        .at("/omitted/processes")
                        .findValuesAsText("pid"))
                .containsExactly("7");
        Files.delete(silent.file("environ"));
        silent.environ(VARIABLE_A);
        machine.nanos.addAndGet(HangBackoff.SHORTEST.toNanos());
        assertThat(agent.observe().processes())
                .extracting(GpuProcess::membership)
                .containsExactly(IN_A, IN_A);
    }

    /** The service recognises sudo's refusals by their words. */
    @Test
    void hasSudoSpeakEnglish() {
        var commands = new ArrayList<String>();
        machine.sudo = true;
        assertThatThrownBy(() -> machine.agent().observe(request -> {
                    commands.add(request.command());
                    return new CommandResult("", "sudo: a password is required", 1, null);
                }))
                .isInstanceOf(UnreachableException.class);
        assertThat(commands).singleElement().asString().startsWith("env LC_ALL=C sudo -n /usr/bin/python3 ");
    }

    /** Its next answer may be invalid for the same reason. */
    @Test
    void endsAnAgentWhoseAnswerIsInvalid() {
        var agent = machine.agent();
        assertThatThrownBy(() -> agent.observe(request -> new CommandResult(
                        PythonMachine.answer(request, new Answer.Failed("why")).replace("why", "how"), "", null, null)))
                .isInstanceOf(UnreachableException.class)
                .hasMessageContaining("its checksum is that of another text");
        assertThat(agent.stops).isEqualTo(1);
    }

    @Test
    void everyRequestHasItsOwnNonce() throws Exception {
        machine.observe();
        machine.observe();
        assertThat(machine.python.requests)
                .hasSize(2)
                .extracting(
                        request -> PythonMachine.request(request).path("nonce").textValue())
                .doesNotHaveDuplicates();
    }

    private final Child first = Child.inEnvironment("15971");
    private final Child second = Child.inEnvironment("15971");
    private PythonMachine.AgentHost agent;
    private List<Action> actions = List.of();

    // What is known of actions whose answer is lost.

    private void plan() throws Exception {
        machine.nvidiaSmi.noProcesses().process(0, first.pid(), "1").process(0, second.pid(), "1");
        machine.files()
                .ownEnv("15971", null, first.pid())
                .device(0, "15971")
                .device(1)
                .write();
        agent = machine.agent();
        var snapshot = agent.observe();
        actions = new ArrayList<>();
        for (var child : List.of(first, second)) {
            snapshot.processes().stream()
                    .filter(process -> process.pid() == child.pid())
                    .forEach(process -> actions.add(new Action.Terminate("gpu-1", process)));
        }
        actions.add(new Action.Detach(
                "gpu-1",
                snapshot.environments().getFirst(),
                0,
                snapshot.devices().getFirst().attachments().getFirst()));
    }

    @AfterEach
    void endChildren() {
        first.close();
        second.close();
    }

    private List<Result> execute(PythonMachine.Answering answering) throws Exception {
        var results = new HashMap<Action, Result>();
        try {
            agent.execute(
                    answering,
                    actions,
                    (action, result) -> assertThat(results.put(action, result)).isNull());
        } finally {
            machine.python.stop();
            this.results = results;
        }
        return actions.stream().map(results::get).toList();
    }

    private Map<Action, Result> results = Map.of();

    AgentMachineTest() throws IOException {}

    @BeforeEach
    void createAgent() {
        agent = machine.agent();
    }

    private static CommandResult lost(ProgramRequest request, String output, @Nullable UnreachableException broken) {
        var nonce = PythonMachine.request(request).path("nonce").textValue();
        return new CommandResult(output.replace("@ ", "@" + nonce + " "), "", broken == null ? 1 : null, broken);
    }

    /** An agent whose answer was lost may continue. An agent that has ended has announced all that it began. */
    @Test
    void onlyBegunActionsHaveAnUnknownResult() throws Exception {
        for (var code : List.of(ProblemCode.AGENT_KILLED, ProblemCode.TIMEOUT)) {
            var broken = new UnreachableException(code, "it was lost");
            plan();
            var other = code.equals(ProblemCode.AGENT_KILLED)
                    ? Result.failed("it was lost; it was not started")
                    : Result.lost("it was lost");
            assertThat(execute(request -> lost(request, "@ begun %d\n@ begun ".formatted(first.pid()), broken)))
                    .containsExactly(Result.lost("it was lost"), other, other);
        }
        plan();
        assertThat(execute(request -> lost(request, "@ begun %d\n".formatted(first.pid()), null)))
                .extracting(Result::uncertain)
                .containsExactly(true, false, false);
    }

    @Test
    void actionMissingFromTheAnswerMayHaveBeenExecuted() throws Exception {
        plan();
        actions = actions.subList(0, 2);
        assertThat(execute(request -> new CommandResult(
                        PythonMachine.answer(request, new Answer.ToSignals(true, List.of())), "", 0, null)))
                .containsOnly(Result.lost("the host reported no result"));
    }

    @Test
    void answerThatCannotBeReadMayFollowAnExecution() throws Exception {
        plan();
        assertThat(execute(request -> lost(request, "@ nonsense\n", null)))
                .allSatisfy(result -> assertThat(result.uncertain()).isTrue());
        assertThat(agent.stops).isEqualTo(2);
    }

    /** A second SIGTERM would be taken for an abort: nobody is asked twice for want of an answer. */
    @Test
    void signalWithoutAnAnswerIsSentOnce() throws Exception {
        plan();
        actions = actions.subList(0, 1);
        var requests = new int[1];
        var interruption = new UnreachableException(ProblemCode.CONNECTION_LOST, "the connection was lost");
        assertThat(execute(request -> {
                    requests[0]++;
                    var output = machine.python.request(request).output();
                    return new CommandResult(output.substring(0, output.length() - 2), "", null, interruption);
                }))
                .containsExactly(Result.lost("the connection was lost"));
        assertThat(requests[0]).isEqualTo(1);
        assertThat(first.awaitExit()).isEqualTo(143);
    }

    @Test
    void unreachableMachineMeansNotExecuted() throws Exception {
        plan();
        var lost = new UnreachableException(ProblemCode.CONNECTION_LOST, "it was lost");
        assertThatThrownBy(() -> execute(_ -> {
                    throw lost;
                }))
                .isSameAs(lost);
        assertThat(results).isEmpty();
        assertThatThrownBy(() -> execute(_ -> new CommandResult("", "sudo: a password is required", 1, null)))
                .isInstanceOf(UnreachableException.class);
        assertThat(results).isEmpty();
    }

    @Test
    void interruptReportsActionsThatMayHaveBeenExecuted() throws Exception {
        plan();
        assertThatThrownBy(() -> execute(_ -> {
                    throw new InterruptedException();
                }))
                .isInstanceOf(InterruptedException.class);
        var abandoned = "abandoned: the execution took too long";
        assertThat(actions.stream().map(results::get))
                .containsExactly(Result.lost(abandoned), Result.lost(abandoned), Result.failed(abandoned));
        actions = actions.subList(2, 3);
        assertThatThrownBy(() -> execute(_ -> {
                    throw new InterruptedException();
                }))
                .isInstanceOf(InterruptedException.class);
        assertThat(results.values()).containsExactly(Result.lost(abandoned));
    }

    /** The service waits for all actions of a cycle together. */
    @Test
    void allActionsAfterOneObservationHaveOneDeadline() throws Exception {
        plan();
        var interruption = new UnreachableException(ProblemCode.TIMEOUT, "it was lost");
        var hour = Duration.ofHours(1);
        var deadlines = new ArrayList<Long>();
        for (var observation = 0; observation < 2; observation++) {
            agent.observe(machine.python::request);
            machine.nanos.addAndGet(hour.multipliedBy(observation).toNanos());
            execute(request -> {
                deadlines.add(PythonMachine.request(request).path("deadline").longValue());
                machine.nanos.addAndGet(hour.toNanos());
                return lost(request, "", interruption);
            });
        }
        assertThat(deadlines).hasSize(4);
        assertThat(deadlines.get(1)).as("signals and a replacement").isEqualTo(deadlines.get(0));
        assertThat(deadlines.get(2))
                .as("the time since the observation passed for the machine too")
                .isGreaterThanOrEqualTo(deadlines.get(0) + 100 * hour.toSeconds());
        assertThat(deadlines.get(3)).isEqualTo(deadlines.get(2));
    }

    @Test
    void actionsAreNotRepeatable() throws Exception {
        plan();
        assertThat(execute(machine.python::request))
                .extracting(Result::outcome)
                .contains(Outcome.SIGNALLED, Outcome.DETACHED);
        assertThat(machine.python.requests)
                .extracting(ProgramRequest::isRepeatable)
                .containsExactly(true, false, false);
    }
}

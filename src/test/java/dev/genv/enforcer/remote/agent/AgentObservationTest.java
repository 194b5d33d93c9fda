package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.Device.DeviceStatus;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.agent.HostMemory.HangBackoff;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The service with the real agent; only the GPUs are fake. */
@Timeout(600)
class AgentObservationTest {
    private static final Membership SILENT = new Membership.Unknown("its environ does not answer");
    private static final Membership IN_A = new Membership.InEnvironment("a");
    private static final String VARIABLE_A = "GENV_ENVIRONMENT_ID=a";
    private static final String READ_ONLY_REASON =
            "another service acts on this host over SSH, or this one did before its restart, and that lease has not"
                    + " expired";

    private final Path folder;
    private final PythonMachine machine;

    AgentObservationTest(@TempDir Path folder) throws IOException {
        this.folder = folder;
        machine = new PythonMachine(folder);
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

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

    @Test
    void exitIsUnknownInAnotherPidNamespace() throws Exception {
        machine.useFakeProc(folder.resolve("proc")).pidNamespace(4026532281L);
        var ofTheHost = new ProcessId(8, 1);
        assertThat(machine.observe(ofTheHost).details().ended()).containsExactly(ofTheHost);
        machine.requireHostPid = true;
        assertThat(machine.observe(ofTheHost).details().ended()).isEmpty();
    }

    @Test
    void secondServiceIsReadOnly() throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            machine.nvidiaSmi.process(0, child.pid(), "1542");
            machine.files().device(0).device(1).write();
            assertThat(machine.observe().details().readOnlyReason()).isNull();
            machine.service = "two";
            var second = machine.agent();
            var observation = second.observe();
            assertThat(observation.details().readOnlyReason()).isEqualTo(READ_ONLY_REASON);
            assertThat(observation.problems())
                    .contains(new Problem(ProblemCode.SECOND_ENFORCER, READ_ONLY_REASON + ": this one only observes"));
            var action = new Action.Terminate("gpu-1", observation.processes().getFirst());
            var results = new HashMap<Action, Result>();
            second.execute(machine.python::request, List.of(action), results::put);
            assertThat(results).containsExactly(Map.entry(action, Result.failed(READ_ONLY_REASON)));
            machine.canAct = false;
            assertThat(machine.observe().details().readOnlyReason()).isNull();
        }
    }

    @Test
    void reportsWhatIsMeasuredOnTheDevices() throws Exception {
        machine.nvidiaSmi.status("0, 1700, 16384, 61, 87, [N/A], [N/A]\n1, [N/A], 16384, 48, [N/A], [N/A], [N/A]\n");
        assertThat(machine.observe().details().devices())
                .containsExactly(
                        new DeviceStatus(0, 61, 87, Memory.ofMebibytes(1700), Memory.ofMebibytes(16384), null, null),
                        new DeviceStatus(1, 48, null, null, Memory.ofMebibytes(16384), null, null));
    }

    /** A process can lay its memory where nobody answers. Then it alone is not known. */
    @Test
    void silentProcessIsReadAgainOnlyAfterAPause() throws Exception {
        var proc = machine.useFakeProc(folder.resolve("proc"));
        var agent = machine.agent();
        machine.setGpuProcesses(7, 8);
        var silent = proc.process(7);
        hang(silent.file("environ"));
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

    private static void hang(Path file) throws Exception {
        Files.deleteIfExists(file);
        Programs.fifo(file);
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
}

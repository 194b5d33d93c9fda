package dev.genv.enforcer.remote.agent;

import static dev.genv.enforcer.testsupport.state.ExpectedObservation.assertOneEnvironmentObserved;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The real agent on real processes; only the GPUs are fake. */
@Timeout(600)
class AgentObservationTest {
    private final Path folder;
    private final Machine machine;

    AgentObservationTest(@TempDir Path folder) throws IOException {
        this.folder = folder;
        machine = new Machine(folder);
    }

    @Test
    void observesProcessesAndAttachments() throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            machine.nvidiaSmi.process(0, child.pid(), "1542").process(1, child.pid(), "[N/A]");
            machine.files()
                    .ownEnv("15971", "4g", child.pid())
                    .device(0, "15971")
                    .device(1)
                    .write();
            var observation = machine.observe();
            assertThat(observation.details().readOnlyReason()).isNull();
            assertThat(observation.details().ended()).isEmpty();
            assertThat(observation.host()).isEqualTo("gpu-1");
            assertOneEnvironmentObserved(observation, child);
            assertThat(observation.environments().getFirst().ownership().uids()).containsExactly(CurrentProcess.uid());
            assertComplete(observation);
        }
    }

    @Test
    void distinguishesOutsideFromUnknownMembership() throws Exception {
        try (var outside = Child.withEnvironment(Map.of());
                var listed = Child.withEnvironment(Map.of("GENV_ENVIRONMENT_ID", ""))) {
            machine.nvidiaSmi.process(0, outside.pid(), "1").process(0, listed.pid(), "1");
            machine.files()
                    .ownEnv("15971", null, listed.pid())
                    .device(0)
                    .device(1)
                    .write();
            var snapshot = machine.observe();
            assertThat(process(snapshot, outside).membership()).isEqualTo(new Membership.Outside());
            assertThat(process(snapshot, listed).membership()).isInstanceOf(Membership.Unknown.class);
        }
    }

    @Test
    void machineWithoutStateIsComplete() throws Exception {
        assertComplete(machine.observe());
        assertThat(machine.state.resolve("genv.lock")).doesNotExist();
        var absent = new Machine(Files.createDirectory(folder.resolve("other")));
        Files.delete(absent.state);
        assertComplete(absent.observe());
        assertThat(absent.state).doesNotExist();
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
    void rereadsAccountsOnlyWhenTheyChange() throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            machine.files()
                    .env("15971", CurrentProcess.uid(), "raz", null, child.pid())
                    .device(0, "15971")
                    .device(1)
                    .write();
            var agent = machine.agent();
            assertThat(dispute(agent)).contains("uid %d is user".formatted(CurrentProcess.uid()));
            assertThat(dispute(agent)).contains("uid %d is user".formatted(CurrentProcess.uid()));
            assertThat(machine.python.requests().getLast().line()).doesNotContain("PASSWD=''");
            Files.writeString(machine.etc.resolve("passwd"), "raz:x:%d:0::/:/bin/sh\n".formatted(CurrentProcess.uid()));
            assertThat(dispute(agent)).isNull();
            Files.delete(machine.etc.resolve("passwd"));
            var snapshot = agent.observe(machine.python, Set.of());
            assertThat(codes(snapshot)).containsExactly(ProblemCode.PASSWD_UNREADABLE);
            assertThat(snapshot.environments().getFirst().ownership().dispute()).isNull();
            Files.write(machine.etc.resolve("passwd"), new byte[3 << 20]);
            assertThat(codes(agent.observe(machine.python, Set.of()))).containsExactly(ProblemCode.PASSWD_UNREADABLE);
        }
    }

    private @Nullable String dispute(AgentHost agent) throws Exception {
        var snapshot = agent.observe(machine.python, Set.of());
        return snapshot.environments().getFirst().ownership().dispute();
    }

    @Test
    void jupyterKernelKeepsTheEnvironmentAlive() throws Exception {
        // No other process of this machine has these.
        var one = UUID.randomUUID().toString();
        var two = UUID.randomUUID().toString();
        var three = UUID.randomUUID().toString();
        machine.files()
                .env("1", CurrentProcess.uid(), null, null, List.of(), List.of(one))
                .env("2", CurrentProcess.uid(), null, null, List.of(), List.of(two, two + "\nx"))
                .env("3", CurrentProcess.uid(), null, null, List.of(), List.of(three))
                .device(0)
                .device(1)
                .write();
        try (var first = startKernel("/run/kernel-%s.json".formatted(one));
                var second = startKernel("-f=kernel-%s.json".formatted(two));
                var none = startKernel(
                        "/run/kernel-%s.json.bak".formatted(three),
                        "/run/xkernel-%s.json".formatted(three),
                        "kernel-%s.json\nx".formatted(three))) {
            assertThat(List.of(first, second, none))
                    .allSatisfy(child -> assertThat(child.isAlive()).isTrue());
            var snapshot = machine.observe();
            assertThat(snapshot.environments()).extracting(Environment::eid).containsExactly("1", "2");
            assertComplete(snapshot);
        }
        assertThat(machine.observe().environments()).isEmpty();
    }

    /** It runs once it has become the shell: until then the kernel shows the arguments of the JVM's helper. */
    private static Child startKernel(String... arguments) throws IOException {
        var command = new ArrayList<>(List.of("sh", "-c", "sleep 600; :"));
        command.addAll(List.of(arguments));
        var child = Child.running(command, Map.of());
        await().until(() -> child.command().equals("sh"));
        return child;
    }

    @Test
    void searchesKernelsOfIdsInAnotherNotation() throws Exception {
        var id = UUID.randomUUID().toString();
        machine.files()
                .env("1", CurrentProcess.uid(), null, null, List.of(), List.of(id))
                .device(0)
                .device(1)
                .write();
        var envs = machine.state.resolve("envs.json");
        Files.writeString(envs, Files.readString(envs).replace("kernel_ids", "kernel\\u005fids"));
        try (var _ = startKernel("/run/kernel-%s.json".formatted(id))) {
            assertThat(machine.observe().environments()).hasSize(1);
        }
        assertThat(machine.observe().environments()).isEmpty();
    }

    private static GpuProcess process(Snapshot snapshot, Child child) {
        return snapshot.processes().stream()
                .filter(process -> process.pid() == child.pid())
                .findFirst()
                .orElseThrow();
    }

    private static void assertComplete(Snapshot snapshot) {
        assertThat(codes(snapshot)).isEmpty();
        assertThat(snapshot.missing()).isEmpty();
    }

    /** What an ordinary user may not do is not what a test of the rest is about. */
    private static List<ProblemCode> codes(Snapshot snapshot) {
        return snapshot.problems().stream()
                .map(Problem::code)
                .filter(code -> !code.equals(ProblemCode.MISSING_PRIVILEGE))
                .toList();
    }
}

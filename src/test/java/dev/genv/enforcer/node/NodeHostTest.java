package dev.genv.enforcer.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Outcome;
import dev.genv.enforcer.enforcement.Result;
import dev.genv.enforcer.model.Attachment;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.DeviceUsage;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Part;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.testsupport.Child;
import dev.genv.enforcer.testsupport.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The real /proc and real processes; only the GPUs are make-believe. */
@Timeout(60)
class NodeHostTest {
    private final Path state;
    private final FakeNvidiaSmi smi;
    private final NodeHost host;

    NodeHostTest(@TempDir Path folder) throws IOException {
        state = folder.resolve("genv");
        smi = new FakeNvidiaSmi(folder.resolve("bin")).gpus(2);
        host = new NodeHost(
                "gpu-1",
                new NodeHost.Places(
                        Path.of("/proc"),
                        state,
                        Duration.ofSeconds(5),
                        smi.path().toString(),
                        Duration.ofSeconds(20),
                        false));
    }

    @Test
    void seesWhatRunsAndWhatIsAttached() throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            smi.process(0, child.pid(), "1542").process(1, child.pid(), "[N/A]");
            files().env("15971", 1000, "alice", "4g", child.pid())
                    .device(0, "15971")
                    .device(1)
                    .write();
            var look = host.look(Set.of());
            assertThat(look.gpuSource()).isEqualTo("nvidia-smi");
            var snapshot = look.snapshot();
            assertThat(snapshot.host()).isEqualTo("gpu-1").isEqualTo(host.name());
            assertThat(snapshot.processes())
                    .containsExactly(new GpuProcess(
                            new ProcessId(child.pid(), child.startTime()),
                            Libc.effectiveUid(),
                            "sleep",
                            new Membership.InEnvironment("15971"),
                            List.of(new DeviceUsage(0, Memory.ofMebibytes(1542)), new DeviceUsage(1, null))));
            assertThat(snapshot.environments()).extracting(Environment::eid).containsExactly("15971");
            assertThat(snapshot.devices())
                    .containsExactly(
                            new Device(0, "15258mi", List.of(new Attachment("15971", null, StateFiles.TIME))),
                            new Device(1, "15258mi", List.of()));
            assertThat(snapshot.listedDevices()).containsExactlyInAnyOrder(0, 1);
            assertComplete(snapshot);
        }
    }

    @Test
    void tellsOutsideFromUnknown() throws Exception {
        try (var outside = Child.withEnvironment(Map.of());
                var listed = Child.withEnvironment(Map.of("GENV_ENVIRONMENT_ID", ""))) {
            smi.process(0, outside.pid(), "1").process(0, listed.pid(), "1");
            files().env("15971", 1000, "alice", null, listed.pid())
                    .device(0)
                    .device(1)
                    .write();
            var processes = host.look(Set.of()).snapshot().processes();
            assertThat(processes)
                    .filteredOn(process -> process.pid() == outside.pid())
                    .extracting(GpuProcess::membership)
                    .containsExactly(new Membership.Outside());
            assertThat(processes)
                    .filteredOn(process -> process.pid() == listed.pid())
                    .extracting(GpuProcess::membership)
                    .hasOnlyElementsOfType(Membership.Unknown.class)
                    .hasSize(1);
        }
    }

    @Test
    void anEnvironmentEndsWithItsProcesses() throws Exception {
        int pid;
        try (var child = Child.inEnvironment("15971")) {
            pid = child.pid();
        }
        files().env("15971", 1000, "alice", null, pid)
                .device(0, "15971")
                .device(1)
                .write();
        var snapshot = host.look(Set.of()).snapshot();
        assertThat(snapshot.environments()).isEmpty();
        assertThat(snapshot.devices())
                .allSatisfy(device -> assertThat(device.attachments()).isEmpty());
        assertComplete(snapshot);
    }

    @Test
    void aMachineOnWhichNobodyUsedGenvIsFine() throws Exception {
        assertComplete(host.look(Set.of()).snapshot());
        assertThat(state).doesNotExist();
        Files.createDirectory(state);
        assertComplete(host.look(Set.of()).snapshot());
        assertThat(state).isEmptyDirectory();
    }

    @Test
    void liveEnvironmentsWithoutDevicesAreIncomplete() throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            smi.process(0, child.pid(), "1");
            files().env("15971", 1000, "alice", null, child.pid()).writeEnvs();
            var snapshot = host.look(Set.of()).snapshot();
            assertThat(snapshot.missing()).containsExactly(Part.ATTACHMENTS);
            assertThat(snapshot.processes()).hasSize(1);
            files().device(0).device(1).writeDevices();
            assertComplete(host.look(Set.of()).snapshot());
        }
    }

    @Test
    void withoutTheGpuToolTheStateIsSeenAllTheSame() throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            smi.process(0, child.pid(), "1").fault("exit 9");
            files().env("15971", 1000, "alice", null, child.pid()).device(0).write();
            var snapshot = host.look(Set.of()).snapshot();
            assertThat(snapshot.missing()).containsExactly(Part.PROCESSES);
            assertThat(snapshot.problems()).extracting(Problem::code).containsExactly("gpu_tool_failed");
            assertThat(snapshot.environments()).hasSize(1);
            smi.noFault();
            assertThat(host.look(Set.of()).snapshot().processes()).hasSize(1);
        }
    }

    @Test
    void answersEachActionInItsPlace() throws Exception {
        try (var child = Child.inEnvironment("15971");
                var other = Child.inEnvironment("15971")) {
            smi.process(0, child.pid(), "1").process(0, other.pid(), "1");
            files().env("15971", 1000, "alice", null, other.pid())
                    .device(0, "15971")
                    .device(1)
                    .write();
            var snapshot = host.look(Set.of()).snapshot();
            var environment = snapshot.environments().getFirst();
            var attachment = snapshot.devices().getFirst().attachments().getFirst();
            var victim = snapshot.processes().stream()
                    .filter(process -> process.pid() == child.pid())
                    .findFirst()
                    .orElseThrow();
            var actions = List.<Action>of(
                    new Action.Detach("gpu-1", environment, 1, attachment),
                    new Action.Terminate("gpu-1", victim),
                    new Action.Detach("gpu-1", environment, 0, attachment));
            var results = new HashMap<Action, Result>();
            host.perform(actions, results::put);
            assertThat(actions)
                    .extracting(results::get)
                    .containsExactly(
                            Result.of(Outcome.ALREADY_DETACHED),
                            Result.of(Outcome.SIGNALLED),
                            Result.of(Outcome.DETACHED));
            assertThat(child.awaitEnd()).isEqualTo(143);
            assertThat(other.isAlive()).isTrue();
            assertThat(state.resolve("devices.json"))
                    .hasContent(files().device(0).device(1).devicesJson());
        }
    }

    private StateFiles files() {
        return new StateFiles(state);
    }

    private static void assertComplete(Snapshot snapshot) {
        assertThat(snapshot.problems()).isEmpty();
        assertThat(snapshot.missing()).isEmpty();
    }

    /** Outside of it, the pid that the driver names is somebody else's. */
    @Test
    void believesNoPidsOutsideTheHostsPidNamespace(@TempDir Path proc) throws Exception {
        var namespace = Files.createDirectories(proc.resolve("self/ns")).resolve("pid");
        var places = new NodeHost.Places(
                proc, state, Duration.ofSeconds(5), smi.path().toString(), Duration.ofSeconds(20), true);
        Files.createSymbolicLink(namespace, Path.of("pid:[4026532281]"));
        var look = new NodeHost("gpu-1", places).look(Set.of());
        assertThat(look.snapshot().missing()).containsExactly(Part.PROCESSES);
        assertThat(look.snapshot().problems())
                .extracting(Problem::detail)
                .singleElement()
                .asString()
                .contains("--pid=host");

        Files.delete(namespace);
        Files.createSymbolicLink(namespace, Path.of("pid:[4026531836]"));
        assertThat(new NodeHost("gpu-1", places).look(Set.of()).snapshot().missing())
                .isEmpty();
    }
}

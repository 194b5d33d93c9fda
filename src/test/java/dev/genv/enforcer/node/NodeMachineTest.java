package dev.genv.enforcer.node;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static dev.genv.enforcer.testsupport.state.ExpectedObservation.assertOneEnvironmentObserved;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.ObservedHost;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.linux.Libc;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.testsupport.NodeBuilder;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The real /proc and real processes; only the GPUs are fake. */
@Timeout(600)
class NodeMachineTest {
    private final Path state;
    private final FakeNvidiaSmi smi;
    private final NodeMachine machine;
    private final ObservedHost host;

    NodeMachineTest(@TempDir Path folder) throws IOException {
        state = folder.resolve("genv");
        smi = new FakeNvidiaSmi(folder.resolve("bin")).gpus(2);
        var builder = new NodeBuilder(state, smi.path());
        machine = builder.machine();
        host = builder.host(machine);
    }

    @Test
    void observesProcessesAndAttachments() throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            smi.process(0, child.pid(), "1542").process(1, child.pid(), "[N/A]");
            files().ownEnv("15971", "4g", child.pid())
                    .device(0, "15971")
                    .device(1)
                    .write();
            var snapshot = host.observe(Set.of());
            assertThat(snapshot.host()).isEqualTo("gpu-1").isEqualTo(host.name());
            assertOneEnvironmentObserved(snapshot, child);
            assertComplete(snapshot);
        }
    }

    /** A process that is started while the state is read must not count as older than an environment that is in it. */
    @Test
    void ticksAreTakenBeforeTheStateIsRead() throws Exception {
        files().device(0).device(1).write();
        var timeLimit = Duration.ofSeconds(1);
        var waiting = new NodeBuilder(state, smi.path()).lockTimeout(timeLimit).host();
        var asked = state.resolveSibling("asked");
        var locked = state.resolveSibling("locked");
        smi.fault("touch %s; while [ ! -e %s ]; do sleep 0.01; done".formatted(asked, locked));
        try (var observing = Executors.newSingleThreadExecutor()) {
            var observation = observing.submit(() -> waiting.observe(Set.of()));
            await().atMost(HANG).until(() -> Files.exists(asked)); // between the two readings of the state
            try (var _ = RealFlock.take(state.resolve("genv.lock"))) {
                Files.createFile(locked);
                var observed = observation.get();
                assertThat(Libc.ticksSinceBoot() - observed.details().ticks()).isGreaterThanOrEqualTo(99);
            }
        }
    }

    @Test
    void distinguishesOutsideFromUnknownMembership() throws Exception {
        try (var outside = Child.withEnvironment(Map.of());
                var listed = Child.withEnvironment(Map.of("GENV_ENVIRONMENT_ID", ""))) {
            smi.process(0, outside.pid(), "1").process(0, listed.pid(), "1");
            files().ownEnv("15971", null, listed.pid()).device(0).device(1).write();
            var processes = host.observe(Set.of()).processes();
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
    void environmentWithoutLiveProcessesIsNotListed() throws Exception {
        int pid;
        try (var child = Child.inEnvironment("15971")) {
            pid = child.pid();
        }
        files().ownEnv("15971", null, pid).device(0, "15971").device(1).write();
        var snapshot = host.observe(Set.of());
        assertThat(snapshot.environments()).isEmpty();
        assertThat(snapshot.devices())
                .allSatisfy(device -> assertThat(device.attachments()).isEmpty());
        assertComplete(snapshot);
    }

    @Test
    void missingOrEmptyStateDirectoryIsComplete() throws Exception {
        assertComplete(host.observe(Set.of()));
        assertThat(state).doesNotExist();
        Files.createDirectory(state);
        assertComplete(host.observe(Set.of()));
        assertThat(state).isEmptyDirectory();
    }

    @Test
    void liveEnvironmentsWithoutDevicesAreIncomplete() throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            smi.process(0, child.pid(), "1");
            files().ownEnv("15971", null, child.pid()).writeEnvs();
            var snapshot = host.observe(Set.of());
            assertThat(snapshot.missing()).containsExactly(SnapshotPart.ATTACHMENTS);
            assertThat(snapshot.processes()).hasSize(1);
            files().device(0).device(1).writeDevices();
            assertComplete(host.observe(Set.of()));
        }
    }

    @Test
    void failingGpuToolDoesNotHideTheState() throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            smi.process(0, child.pid(), "1").fault("exit 9");
            files().ownEnv("15971", null, child.pid()).device(0).write();
            var snapshot = host.observe(Set.of());
            assertThat(snapshot.missing()).containsExactly(SnapshotPart.PROCESSES);
            assertThat(problems(snapshot)).extracting(Problem::code).containsExactly(ProblemCode.GPU_TOOL_FAILED);
            assertThat(snapshot.environments()).hasSize(1);
            smi.noFault();
            assertThat(host.observe(Set.of()).processes()).hasSize(1);
        }
    }

    @Test
    void reportsTheResultOfEachAction() throws Exception {
        try (var child = Child.inEnvironment("15971");
                var other = Child.inEnvironment("15971")) {
            smi.process(0, child.pid(), "1").process(0, other.pid(), "1");
            files().ownEnv("15971", null, other.pid())
                    .device(0, "15971")
                    .device(1)
                    .write();
            var snapshot = host.observe(Set.of());
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
            host.execute(actions, results::put);
            assertThat(actions)
                    .extracting(results::get)
                    .containsExactly(
                            Result.of(Outcome.ALREADY_DETACHED),
                            Result.of(Outcome.SIGNALLED),
                            Result.of(Outcome.DETACHED));
            assertThat(child.awaitExit()).isEqualTo(143);
            assertThat(other.isAlive()).isTrue();
            assertThat(state.resolve("devices.json"))
                    .hasContent(files().device(0).device(1).devicesJson());
        }
    }

    private StateFiles files() {
        return new StateFiles(state);
    }

    private static void assertComplete(Snapshot snapshot) {
        assertThat(problems(snapshot)).isEmpty();
        assertThat(snapshot.missing()).isEmpty();
    }

    /** What an ordinary user may not do is not what a test of the rest is about. */
    private static List<Problem> problems(Snapshot snapshot) {
        return snapshot.problems().stream()
                .filter(problem -> !problem.code().equals(ProblemCode.MISSING_PRIVILEGE))
                .toList();
    }
}

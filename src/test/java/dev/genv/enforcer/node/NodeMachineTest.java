package dev.genv.enforcer.node;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.ObservedHost;
import dev.genv.enforcer.linux.Libc;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.state.EnforcerLock;
import dev.genv.enforcer.testsupport.NodeBuilder;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
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
    private static final long ALICE = 1000;
    private static final String ALL_CAPABILITIES = "000001ffffffffff";
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

    private StateFiles files() {
        return new StateFiles(state);
    }

    @Test
    void isReadOnlyWhileAnotherEnforcerHoldsTheLock() throws Exception {
        files().device(0).device(1).write();
        assertThat(machine.claim()).isEmpty();
        assertThat(host.observe(Set.of()).details().readOnlyReason()).isNull();
        try (var other = new EnforcerLock(state, new ProcFs(Path.of("/proc")))) {
            assertThat(other.take().other()).isNotNull();
            Files.delete(state.resolve(EnforcerLock.NAME));
            assertThat(other.take().other()).isNull();
            assertThat(host.observe(Set.of()).details().readOnlyReason()).contains("another enforcer");
        }
        assertThat(host.observe(Set.of()).details().readOnlyReason()).isNull();
    }

    @Test
    void claimRemovesTempFiles() throws Exception {
        files().device(0).device(1).write();
        Files.createFile(state.resolve(".devices.json.genv-enforcer-0123456789abcdef"));
        assertThat(machine.claim()).hasValueSatisfying(said -> assertThat(said).contains("removed 1 temporary file"));
        assertThat(state.resolve(".devices.json.genv-enforcer-0123456789abcdef"))
                .doesNotExist();
    }

    /** An environment with a Jupyter kernel has all processes searched. Those of Alice that hang then are on no GPU. */
    @Test
    void searchedProcessesThatHangLeaveReadersForListedOnes(@TempDir Path folder) throws Exception {
        var proc = new FakeProc(folder);
        proc.writeSelf(ALL_CAPABILITIES, "");
        Files.createDirectories(proc.hostRoot());
        var faked = new NodeBuilder(state, smi.path()).proc(folder).host();
        new StateFiles(state)
                .env("kernel", ALICE, "alice", null, List.of(), List.of("one"))
                .device(0)
                .device(1)
                .write();
        try (var child = Child.withEnvironment(Map.of())) {
            for (var pid = 999_999_900; pid < 999_999_909; pid++) {
                proc.process(pid).uid(ALICE).hang("cmdline");
            }
            faked.observe(Set.of());
            smi.process(0, child.pid(), "5");
            proc.process(child.pid()).uid(ALICE).environ("GENV_ENVIRONMENT_ID=a");
            var snapshot = faked.observe(Set.of());
            assertThat(snapshot.processes())
                    .extracting(GpuProcess::membership)
                    .containsExactly(new Membership.InEnvironment("a"));
            assertThat(snapshot.problems()).extracting(Problem::code).containsExactly(ProblemCode.KERNELS_UNKNOWN);
        }
    }
}

package dev.genv.enforcer.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.ObservedHost;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.state.EnforcerLock;
import dev.genv.enforcer.node.state.LockHolders;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.testsupport.NodeBuilder;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** When the node only observes. Real processes; only the GPUs are fake. */
@Timeout(600)
class NodeReadOnlyTest {
    private static final String ALL_CAPABILITIES = "000001ffffffffff";
    private final Path state;
    private final FakeNvidiaSmi smi;
    private final NodeMachine machine;
    private final ObservedHost host;

    NodeReadOnlyTest(@TempDir Path folder) throws IOException {
        state = folder.resolve("genv");
        smi = new FakeNvidiaSmi(folder.resolve("bin")).gpus(2);
        var builder = new NodeBuilder(state, smi.path());
        machine = builder.machine();
        host = builder.host(machine);
    }

    @Test
    void isReadOnlyWhileAnotherEnforcerHoldsTheLock() throws Exception {
        files().device(0).device(1).write();
        assertThat(machine.claim()).isEmpty();
        assertThat(host.observe(Set.of()).details().readOnlyReason()).isNull();
        try (var other = new EnforcerLock(state, new LockHolders(new ProcFs(Path.of("/proc"))))) {
            assertThat(other.take().other()).isNotNull();
            Files.delete(state.resolve(EnforcerLock.NAME));
            assertThat(other.take().other()).isNull();
            var observation = host.observe(Set.of());
            assertThat(observation.details().readOnlyReason()).contains("another enforcer");
            assertThat(problems(observation)).extracting(Problem::code).containsExactly(ProblemCode.SECOND_ENFORCER);
            assertThat(observation.missing()).isEmpty();
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

    private StateFiles files() {
        return new StateFiles(state);
    }

    /** What an ordinary user may not do is not what a test of the rest is about. */
    private static List<Problem> problems(Snapshot snapshot) {
        return snapshot.problems().stream()
                .filter(problem -> !problem.code().equals(ProblemCode.MISSING_PRIVILEGE))
                .toList();
    }

    /** Outside of it, the pid that the driver names is somebody else's. */
    @Test
    void outsideTheHostPidNamespaceItIgnoresPidsAndNeverActs(@TempDir Path folder) throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            var proc = new FakeProc(folder);
            proc.writeSelf(ALL_CAPABILITIES, "unconfined");
            proc.pidNamespace(4026532281L);
            var elsewhere = new NodeBuilder(state, smi.path())
                    .proc(folder)
                    .requireHostPid()
                    .host();
            smi.process(0, child.pid(), "1");
            files().device(0, "15971").write();
            var observation = elsewhere.observe(Set.of());
            assertThat(observation.processes()).isEmpty();
            assertThat(observation.missing()).contains(SnapshotPart.PROCESSES);
            assertThat(observation.details().missingPrivileges()).containsExactly("HOST_PID");
            assertThat(observation.details().readOnlyReason()).contains("--pid=host");
            assertThat(observation.problems())
                    .filteredOn(problem -> problem.code().equals(ProblemCode.MISSING_PRIVILEGE))
                    .extracting(Problem::detail)
                    .singleElement()
                    .asString()
                    .startsWith("HOST_PID: ")
                    .contains("--pid=host");

            var action = new Action.Terminate(
                    "gpu-1", host.observe(Set.of()).processes().getFirst());
            var results = new ArrayList<Result>();
            elsewhere.execute(List.of(action), (_, result) -> results.add(result));
            assertThat(results).extracting(Result::outcome).containsExactly(Outcome.FAILED);
            assertThat(child.isAlive()).isTrue();

            proc.pidNamespace(4026531836L);
            observation = elsewhere.observe(Set.of());
            assertThat(observation.details().readOnlyReason()).isNull();
            assertThat(observation.details().missingPrivileges()).isEmpty();
        }
    }
}

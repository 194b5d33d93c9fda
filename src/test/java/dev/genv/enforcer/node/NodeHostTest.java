package dev.genv.enforcer.node;

import static dev.genv.enforcer.testsupport.ExpectedLook.assertThatOneEnvironmentIsSeen;
import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Outcome;
import dev.genv.enforcer.enforcement.Result;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Immunity;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Part;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.observation.ProtectedExecutable;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.testsupport.Child;
import dev.genv.enforcer.testsupport.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.FakeProc;
import dev.genv.enforcer.testsupport.RealFlock;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The real /proc and real processes; only the GPUs are make-believe. */
@Timeout(600)
class NodeHostTest {
    private static final String EVERYTHING = "000001ffffffffff";
    private static final NodeHost.Care CARE = new NodeHost.Care(List.of(), List.of(), true, true);
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
                        HANG,
                        false),
                CARE);
    }

    @Test
    void seesWhatRunsAndWhatIsAttached() throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            smi.process(0, child.pid(), "1542").process(1, child.pid(), "[N/A]");
            files().own("15971", "4g", child.pid()).device(0, "15971").device(1).write();
            var look = host.look(Set.of());
            assertThat(look.gpuSource()).isEqualTo("nvidia-smi");
            var snapshot = look.snapshot();
            assertThat(snapshot.host()).isEqualTo("gpu-1").isEqualTo(host.name());
            assertThatOneEnvironmentIsSeen(snapshot, child);
            assertComplete(snapshot);
        }
    }

    /** A process that is started while the state is read must not count as older than an environment that is in it. */
    @Test
    void tellsTheTimeBeforeTheStateIsRead() throws Exception {
        files().device(0).device(1).write();
        var patience = Duration.ofSeconds(1);
        var places = new NodeHost.Places(
                Path.of("/proc"), state, patience, smi.path().toString(), HANG, false);
        try (var waiting = new NodeHost("gpu-1", places, CARE);
                var _ = RealFlock.take(state.resolve("genv.lock"))) {
            var look = waiting.look(Set.of());
            assertThat(KernelClock.ticks() - look.ticks()).isGreaterThanOrEqualTo(99);
        }
    }

    @Test
    void tellsOutsideFromUnknown() throws Exception {
        try (var outside = Child.withEnvironment(Map.of());
                var listed = Child.withEnvironment(Map.of("GENV_ENVIRONMENT_ID", ""))) {
            smi.process(0, outside.pid(), "1").process(0, listed.pid(), "1");
            files().own("15971", null, listed.pid()).device(0).device(1).write();
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
        files().own("15971", null, pid).device(0, "15971").device(1).write();
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
            files().own("15971", null, child.pid()).writeEnvs();
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
            files().own("15971", null, child.pid()).device(0).write();
            var snapshot = host.look(Set.of()).snapshot();
            assertThat(snapshot.missing()).containsExactly(Part.PROCESSES);
            assertThat(problems(snapshot)).extracting(Problem::code).containsExactly("gpu_tool_failed");
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
            files().own("15971", null, other.pid()).device(0, "15971").device(1).write();
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

    @Test
    void whoTakesChargeWhereAnotherHasOnlyWatches() throws Exception {
        files().device(0).device(1).write();
        assertThat(host.takeCharge()).isEmpty();
        assertThat(host.look(Set.of()).watchesOnly()).isNull();
        try (var other = new ActingLock(state, new LockHolders(new ProcFs(Path.of("/proc"))))) {
            assertThat(other.take().other()).isNotNull();
            Files.delete(state.resolve(ActingLock.NAME));
            assertThat(other.take().other()).isNull();
            var look = host.look(Set.of());
            assertThat(look.watchesOnly()).contains("another enforcer");
            assertThat(problems(look.snapshot())).extracting(Problem::code).containsExactly("second_enforcer");
            assertThat(look.snapshot().missing()).isEmpty();
        }
        assertThat(host.look(Set.of()).watchesOnly()).isNull();
    }

    @Test
    void whoTakesChargeRemovesWhatWasLeftUnfinished() throws Exception {
        files().device(0).device(1).write();
        Files.createFile(state.resolve(".devices.json.genv-enforcer-0123456789abcdef"));
        assertThat(host.takeCharge())
                .hasValueSatisfying(said -> assertThat(said).contains("removed 1 file"));
        assertThat(state.resolve(".devices.json.genv-enforcer-0123456789abcdef"))
                .doesNotExist();
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
                .filter(problem -> !problem.code().equals("missing_right"))
                .toList();
    }

    /** Outside of it, the pid that the driver names is somebody else's. */
    @Test
    void outsideTheHostsPidNamespaceItBelievesNoPidsAndNeverActs(@TempDir Path folder) throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            var proc = new FakeProc(folder);
            proc.self(EVERYTHING, "unconfined");
            proc.pidNamespace(4026532281L);
            var places = new NodeHost.Places(
                    folder, state, Duration.ofSeconds(5), smi.path().toString(), HANG, true);
            var elsewhere = new NodeHost("gpu-1", places, CARE);
            smi.process(0, child.pid(), "1");
            files().device(0, "15971").write();
            var look = elsewhere.look(Set.of());
            assertThat(look.snapshot().processes()).isEmpty();
            assertThat(look.snapshot().missing()).contains(Part.PROCESSES);
            assertThat(look.missingRights()).containsExactly("HOST_PID");
            assertThat(look.watchesOnly()).contains("--pid=host");
            assertThat(look.snapshot().problems())
                    .filteredOn(problem -> problem.code().equals("missing_right"))
                    .extracting(Problem::detail)
                    .singleElement()
                    .asString()
                    .startsWith("HOST_PID: ")
                    .contains("--pid=host");
            assertThat(elsewhere.missingRights()).hasSize(1);

            var action = new Action.Terminate(
                    "gpu-1", host.look(Set.of()).snapshot().processes().getFirst());
            assertThat(perform(elsewhere, action).outcome()).isEqualTo(Outcome.FAILED);
            assertThat(child.isAlive()).isTrue();

            proc.pidNamespace(4026531836L);
            look = elsewhere.look(Set.of());
            assertThat(look.watchesOnly()).isNull();
            assertThat(look.missingRights()).isEmpty();
        }
    }

    @Test
    void whoIsExemptIsSeenWithTheReasonAndNotEnded() throws Exception {
        try (var child = Child.withEnvironment(Map.of())) {
            smi.process(0, child.pid(), "1");
            var uid = Long.toString(Libc.effectiveUid());
            assertSpared(Immunity.Kind.EXEMPT, Outcome.SKIPPED_EXEMPT, child, caring(List.of(), List.of(uid)));
        }
    }

    /** The kernel tells which file is run: neither its name nor a copy under the protected path's name matters. */
    @Test
    void aProtectedProgramOfRootIsSparedAndNothingElse(@TempDir Path folder) throws Exception {
        requireOtherUsers();
        open(folder);
        var program = program(folder, "server");
        var caring = caring(List.of(new ProtectedExecutable(program, "0")), List.of());
        try (var spared = Child.running(List.of(program.toString(), "600"), Map.of());
                var copy = Child.running(List.of(program(folder, "other/server").toString(), "600"), Map.of());
                var renamed = Child.running(
                        List.of("bash", "-c", "exec -a %s sleep 600".formatted(program)),
                        Map.of("PATH", "/usr/bin:/bin"));
                var users = Child.ofUser(65534, program, Map.of())) {
            for (var child : List.of(spared, copy, renamed, users)) {
                smi.process(0, child.pid(), "1");
            }
            assertSpared(Immunity.Kind.PROTECTED, Outcome.SKIPPED_PROTECTED, spared, caring);
            for (var child : List.of(copy, renamed, users)) {
                assertThat(end(child, caring)).isEqualTo(Result.of(Outcome.SIGNALLED));
                assertThat(child.awaitEnd()).isEqualTo(143);
            }
        }
    }

    @Test
    void aProtectedProgramOfAUserIsSparedWhereThatIsAskedFor(@TempDir Path folder) throws Exception {
        requireOtherUsers();
        open(folder);
        var program = program(folder, "server");
        try (var nobody = Child.ofUser(65534, program, Map.of());
                var other = Child.ofUser(65533, program, Map.of())) {
            smi.process(0, nobody.pid(), "1").process(0, other.pid(), "1");
            var one = caring(List.of(new ProtectedExecutable(program, "65534")), List.of());
            assertSpared(Immunity.Kind.PROTECTED, Outcome.SKIPPED_PROTECTED, nobody, one);
            var all = caring(List.of(new ProtectedExecutable(program, "*")), List.of());
            assertSpared(Immunity.Kind.PROTECTED, Outcome.SKIPPED_PROTECTED, other, all);
            assertThat(end(other, one)).isEqualTo(Result.of(Outcome.SIGNALLED));
            assertThat(other.awaitEnd()).isEqualTo(143);
        }
    }

    /** Between the look and the signal the process may have become one that is spared. */
    @Test
    void whoIsSparedIsAskedForAgainBeforeTheSignal() throws Exception {
        try (var child = Child.withEnvironment(Map.of())) {
            smi.process(0, child.pid(), "1");
            var judged = seen(child, host);
            assertThat(judged.immunity()).isNull();
            var action = new Action.Terminate("gpu-1", judged);
            var exempting = caring(List.of(), List.of(Long.toString(Libc.effectiveUid())));
            assertThat(perform(exempting, action).outcome()).isEqualTo(Outcome.SKIPPED_EXEMPT);
            assertThat(child.isAlive()).isTrue();
        }
    }

    private NodeHost caring(List<ProtectedExecutable> programs, List<String> exempt) {
        var places = new NodeHost.Places(
                Path.of("/proc"), state, Duration.ofSeconds(5), smi.path().toString(), HANG, false);
        return new NodeHost("gpu-1", places, new NodeHost.Care(programs, exempt, true, true));
    }

    private static void assertSpared(Immunity.Kind kind, Outcome outcome, Child child, NodeHost host) throws Exception {
        assertThat(seen(child, host).immunity())
                .isNotNull()
                .extracting(Immunity::kind)
                .isEqualTo(kind);
        assertThat(end(child, host).outcome()).isEqualTo(outcome);
        assertThat(child.isAlive()).isTrue();
    }

    private static GpuProcess seen(Child child, NodeHost host) throws InterruptedException {
        return host.look(Set.of()).snapshot().processes().stream()
                .filter(process -> process.pid() == child.pid())
                .findFirst()
                .orElseThrow();
    }

    private static Result end(Child child, NodeHost host) throws InterruptedException {
        return perform(host, new Action.Terminate("gpu-1", seen(child, host)));
    }

    private static Result perform(NodeHost host, Action action) throws InterruptedException {
        var results = new ArrayList<Result>();
        host.perform(List.of(action), (_, result) -> results.add(result));
        assertThat(results).hasSize(1);
        return results.getFirst();
    }

    private static void requireOtherUsers() throws IOException {
        Requirements.root();
        Requirements.program("/usr/bin/setpriv", "util-linux");
    }

    /** A temporary folder is its owner's alone. */
    private static void open(Path folder) throws IOException {
        Files.setAttribute(folder, "unix:mode", 0755);
    }

    private static Path program(Path folder, String name) throws IOException {
        var program = folder.resolve(name);
        Files.createDirectories(program.getParent());
        return Files.copy(Path.of("/usr/bin/sleep"), program, StandardCopyOption.COPY_ATTRIBUTES);
    }
}

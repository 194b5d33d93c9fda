package dev.genv.enforcer.observation.table;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.enforcement.host.ObservedHost;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.Machine;
import dev.genv.enforcer.host.ObservationRequest;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import dev.genv.enforcer.observation.table.FakeMachine.Hands;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.fake.FakeProc.FakeProcess;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.linux.Programs;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Actions on a real process and on a real file, through the hands on the node and through those of the agent, with what changes between
 * the observation and the action. What the kernel shows of the process is fake.
 */
@Timeout(600)
@ParameterizedClass
@EnumSource
class ActionTableTest {
    private static final Result SIGNALLED = Result.of(Outcome.SIGNALLED);
    private static final Result GONE = Result.of(Outcome.ALREADY_GONE);
    private static final Result DETACHED = Result.of(Outcome.DETACHED);
    private static final Result ALREADY_DETACHED = Result.of(Outcome.ALREADY_DETACHED);
    private static final Duration LOCK_LIMIT = Duration.ofMillis(300);

    /** Something that happens on the machine meanwhile. */
    private interface Change {
        void happens() throws Exception;
    }

    @Parameter
    Hands hands;

    @TempDir
    Path folder;

    private FakeMachine fake;
    private Path state;
    private Path devices;
    private Path lock;
    private Child child;
    private FakeProc proc;
    private FakeProcess process;
    private FakeNvidiaSmi tool;
    private Path server;
    private ObservedHost host;
    /** Happens directly before each action. */
    private Change meanwhile = () -> {};

    @BeforeEach
    void create() throws Exception {
        fake = new FakeMachine(hands, folder);
        fake.lockLimit = LOCK_LIMIT;
        state = fake.state;
        proc = fake.proc;
        devices = state.resolve("devices.json");
        lock = Files.createFile(state.resolve("genv.lock"));
        server = Files.copy(Path.of("/bin/sleep"), folder.resolve("server"));
        fake.programs.add(new ProtectedExecutable(server, "*"));
        child = Child.inEnvironment("15971");
        Files.writeString(proc.root().resolve("locks"), Files.readString(Path.of("/proc/locks")));
        process = process(child.pid());
        tool = fake.tool.process(0, child.pid(), "1542");
        files("a", "b").write();
        host = host();
    }

    @AfterEach
    void endChild() {
        child.close();
    }

    private FakeProcess process(int pid) throws IOException {
        return proc.process(pid).uid(1003).exe(Path.of("/bin/sleep")).environ("GENV_ENVIRONMENT_ID=15971");
    }

    private ObservedHost host() {
        return new ObservedHost(fake.settings(), new Meddling(fake.machine()));
    }

    /** The hands, with what happens directly before each action. */
    private final class Meddling implements Machine {
        private final Machine machine;

        private Meddling(Machine machine) {
            this.machine = machine;
        }

        @Override
        public HostFacts observe(ObservationRequest request) throws UnreachableException, InterruptedException {
            return machine.observe(request);
        }

        @Override
        public void signal(List<SignalRequest> signals, BiConsumer<SignalRequest, SignalResult> done)
                throws UnreachableException, InterruptedException {
            happen(meanwhile);
            machine.signal(signals, done);
        }

        @Override
        public SwapResult swapDevices(String digest, byte[] content) throws UnreachableException, InterruptedException {
            happen(meanwhile);
            return machine.swapDevices(digest, content);
        }

        private void happen(Change change) {
            try {
                change.happens();
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        }
    }

    private static Change once(Change change) {
        var left = new ArrayDeque<>(List.of(change));
        return () -> {
            if (!left.isEmpty()) {
                left.remove().happens();
            }
        };
    }

    private GpuProcess observe() throws Exception {
        return host.observe(Set.of()).processes().stream()
                .filter(each -> each.pid() == child.pid())
                .findFirst()
                .orElseThrow();
    }

    private Result terminate(GpuProcess seen) throws Exception {
        return execute(new Action.Terminate("gpu-1", seen)).getFirst();
    }

    private List<Result> execute(Action... actions) throws Exception {
        var results = new HashMap<Action, Result>();
        host.execute(
                List.of(actions),
                (action, result) -> assertThat(results.put(action, result)).isNull());
        return Stream.of(actions).map(results::get).toList();
    }

    @ParameterizedTest
    @CsvSource({"TERM, 143", "KILL, 137"})
    void sendsTheSignal(Signal signal, int status) throws Exception {
        process.state('D'); // uninterruptible, as one that waits for a device and may never exit
        assertThat(execute(new Action.Terminate("gpu-1", observe(), signal))).containsExactly(SIGNALLED);
        assertThat(child.awaitExit()).isEqualTo(status);
    }

    @Test
    void processesOfAnyOrNoEnvironmentAreSignalled() throws Exception {
        for (var id : List.of("", "\n' \" \\ $(id)`@0 end ä", "x".repeat(5000))) {
            try (var other = Child.withEnvironment(Map.of())) {
                tool.noProcesses().process(0, other.pid(), "1");
                process(other.pid()).environ("GENV_ENVIRONMENT_ID=" + id);
                var seen = host.observe(Set.of()).processes().getFirst();
                assertThat(terminate(seen)).isEqualTo(SIGNALLED);
                assertThat(other.awaitExit()).isEqualTo(143);
            }
        }
    }

    @Test
    void eachOfSeveralProcessesHasItsResult() throws Exception {
        try (var other = Child.withEnvironment(Map.of());
                var third = Child.withEnvironment(Map.of())) {
            tool.process(0, other.pid(), "1").process(1, third.pid(), "1");
            process(other.pid());
            var unreadable = process(third.pid());
            var actions = host.observe(Set.of()).processes().stream()
                    .sorted(Comparator.comparingInt(each ->
                            List.of(child.pid(), other.pid(), third.pid()).indexOf(each.pid())))
                    .map(each -> new Action.Terminate("gpu-1", each))
                    .toArray(Action[]::new);
            process.startTime(1);
            Files.writeString(unreadable.file("stat"), "812 (x) S 1");
            assertThat(execute(actions)).containsExactly(GONE, SIGNALLED, Result.failed("stat has an unknown form"));
            assertThat(other.awaitExit()).isEqualTo(143);
            assertThat(third.isAlive()).isTrue();
        }
    }

    /** The processes that hang come first in the request. */
    @Test
    void processesOfOneUserWhoseStatsDoNotAnswerLeaveTimeForThoseOfAnother() throws Exception {
        var children = new ArrayList<Child>();
        try {
            for (var number = 0; number < 6; number++) {
                children.add(Child.withEnvironment(Map.of()));
                process(children.getLast().pid()).uid(2000);
            }
            children.add(child);
            var order = children.stream().map(Child::pid).toList();
            tool.noProcesses();
            for (var pid : order) {
                tool.process(0, pid, "1");
            }
            var actions = host.observe(Set.of()).processes().stream()
                    .sorted(Comparator.comparingInt(each -> order.indexOf(each.pid())))
                    .map(each -> new Action.Terminate("gpu-1", each))
                    .toArray(Action[]::new);
            for (var pid : order.subList(0, 6)) {
                proc.process(pid).uid(2000).hang("stat");
            }
            var results = execute(actions);
            assertThat(results).hasSize(7).endsWith(SIGNALLED);
            assertThat(child.awaitExit()).isEqualTo(143);
            assertThat(results.subList(0, 6)).doesNotContain(SIGNALLED);
            assertThat(children.subList(0, 6)).allMatch(Child::isAlive);
        } finally {
            children.forEach(Child::close);
        }
    }

    /** What changes on the machine after the observation. */
    interface Step {
        void happens(ActionTableTest test) throws Exception;
    }

    /** A change, and the result of the signal. */
    record Changed(String name, Result expected, Step change) {
        @Override
        public String toString() {
            return name;
        }
    }

    /** The start time says whether it is the process that the rules checked, and nothing else: it broke a rule for the whole grace period. */
    static List<Changed> changes() {
        return List.of(
                new Changed("a later process with its pid", GONE, test -> test.process.startTime(1001)),
                new Changed("an earlier one", GONE, test -> test.process.startTime(999)),
                new Changed("a zombie", GONE, test -> test.process.state('Z')),
                new Changed(
                        "an exited first thread beside another one",
                        SIGNALLED,
                        test -> test.process.state('Z').threads(2)),
                new Changed(
                        "an unreadable stat",
                        Result.failed("stat has an unknown form"),
                        test -> Files.writeString(test.process.file("stat"), "812 (x) S 1")),
                new Changed("another uid", SIGNALLED, test -> test.process.uid(1004)),
                new Changed(
                        "an unknown uid",
                        SIGNALLED,
                        test -> Files.writeString(test.process.file("status"), "Uid:\t?\n")),
                new Changed("another environment", SIGNALLED, test -> test.process.environ("GENV_ENVIRONMENT_ID=b")),
                new Changed("no environment", SIGNALLED, test -> test.process.environ("X=1")),
                new Changed("no environ", SIGNALLED, test -> test.process.withoutEnvironment()),
                new Changed("an environ that does not answer", SIGNALLED, test -> test.process.hang("environ")),
                new Changed(
                        "a stat that does not answer",
                        Result.failed("it is listed, but its open files cannot be examined, so it is not terminated:"
                                + " it does not answer"),
                        test -> test.process.hang("stat")),
                new Changed("another program", SIGNALLED, test -> test.process.moveEnviron(4096)),
                new Changed("a protected program", SIGNALLED, test -> {
                    Files.delete(test.process.file("exe"));
                    test.process.exe(test.server);
                }));
    }

    @ParameterizedTest
    @MethodSource("changes")
    void onlyTheStartTimeIdentifiesAProcess(Changed changed) throws Exception {
        var seen = observe();
        changed.change().happens(this);
        assertThat(terminate(seen)).isEqualTo(changed.expected());
        assertThat(changed.expected().equals(SIGNALLED) ? child.awaitExit() : 143)
                .isEqualTo(143);
        assertThat(child.isAlive()).isEqualTo(!changed.expected().equals(SIGNALLED));
    }

    @Test
    void exitedProcessIsGone() throws Exception {
        var seen = observe();
        meanwhile = () -> {
            child.close();
            for (var file : List.of("stat", "status", "environ", "cmdline", "comm", "exe")) {
                Files.delete(process.file(file));
            }
        };
        assertThat(terminate(seen)).isEqualTo(GONE);
        meanwhile = () -> {};
        assertThat(terminate(seen)).isEqualTo(GONE);
    }

    @Test
    void processOfWhichTheKernelStillShowsTheFilesIsGone() throws Exception {
        var seen = observe();
        meanwhile = child::close;
        assertThat(terminate(seen)).isEqualTo(GONE);
    }

    @Test
    void threadIsNoProcess() throws Exception {
        var thread = CurrentProcess.otherThread();
        process(thread);
        tool.process(0, thread, "1");
        var seen = host.observe(Set.of()).processes().stream()
                .filter(each -> each.pid() == thread)
                .findFirst()
                .orElseThrow();
        assertThat(terminate(seen)).isEqualTo(GONE);
    }

    /** {@code /dev/full} stands for a device of the driver. */
    @Test
    void listedProcessMustUseADevice() throws Exception {
        Files.writeString(proc.root().resolve("devices"), "Character devices:\n  1 nvidia\n\nBlock devices:\n");
        Files.createDirectory(process.file("fd"));
        Files.writeString(process.file("maps"), "");
        Files.createDirectories(process.file("task"));
        var seen = observe();
        assertThat(terminate(seen))
                .isEqualTo(Result.failed(
                        "it is listed, but has no device file of the NVIDIA driver open or mapped, so it is not"
                                + " terminated"));
        Files.createSymbolicLink(process.file("fd/7"), Path.of("/dev/full"));
        assertThat(child.isAlive()).isTrue();
        assertThat(terminate(seen)).isEqualTo(SIGNALLED);
    }

    @Test
    void processWhoseFilesCannotBeExaminedIsNotSignalled() throws Exception {
        Files.writeString(proc.root().resolve("devices"), "Character devices:\n  1 nvidia\n");
        assertThat(terminate(observe()))
                .isEqualTo(Result.failed("it is listed, but its open files cannot be examined, so it is not"
                        + " terminated: No such file or directory"));
        assertThat(child.isAlive()).isTrue();
    }

    /** As a file of a file system that does not answer. */
    @Test
    void processWithHangingFilesIsNotSignalled() throws Exception {
        Files.writeString(proc.root().resolve("devices"), "Character devices:\n  1 nvidia\n");
        Files.createDirectory(process.file("fd"));
        Files.createDirectories(process.file("task"));
        Programs.fifo(process.file("maps"));
        assertThat(terminate(observe()).outcome()).isEqualTo(Outcome.FAILED);
        assertThat(child.isAlive()).isTrue();
    }

    @Test
    void nothingIsDoneWithoutAnObservation() throws Exception {
        var seen = observe();
        host = host();
        assertThat(terminate(seen))
                .isEqualTo(Result.failed("this host was not observed since its connection was lost"));
        assertThat(child.isAlive()).isTrue();
    }

    /** The pids that the tool lists belong to other processes there. */
    @Test
    void nothingIsDoneOutsideTheFirstPidNamespace() throws Exception {
        var seen = observe();
        fake.requireHostPid = true;
        proc.pidNamespace(4026532281L);
        host = host();
        host.observe(Set.of());
        for (var result : execute(new Action.Terminate("gpu-1", seen), detach("a", 0))) {
            assertThat(result).isEqualTo(Result.failed("this is not the host's PID namespace: run with --pid=host"));
        }
        assertThat(child.isAlive()).isTrue();
        assertThat(devices).hasContent(files("a", "b").devicesJson());
    }

    /** For kill(2) such a pid means a group, or every process. */
    @Test
    void signalNamesAProcess() {
        for (var pid : List.of(1, 0, -1, Integer.MIN_VALUE)) {
            assertThatThrownBy(() -> new Machine.SignalRequest(new ProcessId(pid, 1), false))
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }

    private StateFiles files(String... eids) throws IOException {
        return new StateFiles(state).device(0, eids).device(1, "a");
    }

    private static Action.Detach detach(String eid, int device) {
        return new Action.Detach(
                "gpu-1", EnvBuilder.env(eid).build(), device, new Attachment(eid, null, StateFiles.TIME));
    }

    /** Detaches a from device 0 of the files of {@link #create} although that happens. */
    private Result detachWhile(Change change) throws Exception {
        meanwhile = () -> {};
        files("a", "b").write();
        host.observe(Set.of());
        meanwhile = change;
        var result = execute(detach("a", 0)).getFirst();
        assertNoTemporaryFile();
        return result;
    }

    private void assertNoTemporaryFile() {
        assertThat(Objects.requireNonNullElse(state.toFile().list(), new String[0]))
                .noneMatch(name -> name.startsWith(".devices.json.genv-enforcer-"));
    }

    @Test
    void removesOnlyTheGivenAttachmentAndLeavesNoTemporaryFile() throws Exception {
        // As of killed runs; another user's directory or file of such a name stays.
        var name = ".devices.json.genv-enforcer-";
        Files.createFile(state.resolve(name + "0123456789abcdef"));
        Files.createDirectory(state.resolve(name + "0123456789abcdee"));
        Files.createFile(state.resolve(name + "0123456789abcdef0"));
        host.observe(Set.of());
        try (var old = Files.newInputStream(devices)) {
            assertThat(execute(detach("a", 0))).containsExactly(DETACHED);
            assertThat(new String(old.readAllBytes(), StandardCharsets.UTF_8))
                    .as("it is not written in place")
                    .isEqualTo(files("a", "b").devicesJson());
        }
        assertThat(devices).hasContent(files("b").devicesJson());
        assertThat(state.toFile().list())
                .containsExactlyInAnyOrder(
                        "envs.json",
                        "devices.json",
                        "genv.lock",
                        name + "0123456789abcdee",
                        name + "0123456789abcdef0");
        assertThat(Files.getPosixFilePermissions(devices)).isEqualTo(PosixFilePermissions.fromString("rw-rw-rw-"));
    }

    /** What counts can be detached, although genv never writes such a time. */
    @ParameterizedTest
    @ValueSource(ints = {0, 5000})
    void removesAnAttachmentWhoseTimeIsInvalid(int length) throws Exception {
        var time = length == 0 ? "5" : '"' + "x".repeat(length) + '"';
        var before = files("a", "b")
                .env("a", 1003, "alice", null, child.pid())
                .write()
                .devicesJson();
        Files.writeString(devices, before.replaceFirst("\"" + StateFiles.TIME + "\"", time));
        var seen = host.observe(Set.of());
        var attachment = seen.devicesByIndex().get(0).attachments().getFirst();
        assertThat(attachment.eid()).isEqualTo("a");
        assertThat(execute(new Action.Detach("gpu-1", seen.environmentsById().get("a"), 0, attachment)))
                .containsExactly(DETACHED);
        assertThat(devices).hasContent(files("b").devicesJson());
    }

    @Test
    void removesSeveralAttachmentsAtOnceAndTerminates() throws Exception {
        var terminate = new Action.Terminate("gpu-1", observe());
        assertThat(execute(detach("a", 0), terminate, detach("a", 1), detach("c", 0), detach("b", 1)))
                .containsExactly(DETACHED, SIGNALLED, DETACHED, ALREADY_DETACHED, ALREADY_DETACHED);
        assertThat(devices)
                .hasContent(new StateFiles(state).device(0, "b").device(1).devicesJson());
    }

    @Test
    void leavesTheFileUnchangedIfTheAttachmentIsGoneOrRenewed() throws Exception {
        host.observe(Set.of());
        var written = Files.getLastModifiedTime(devices);
        var renewed =
                new Action.Detach("gpu-1", EnvBuilder.env("a").build(), 0, new Attachment("a", null, "another time"));
        assertThat(execute(detach("c", 0), renewed)).containsExactly(ALREADY_DETACHED, ALREADY_DETACHED);
        assertThat(Files.getLastModifiedTime(devices)).isEqualTo(written);
    }

    @Test
    void changesOfOthersArePreserved() throws Exception {
        for (Change change : List.<Change>of(
                () -> files("a", "b", "c").writeDevices(),
                () -> Files.writeString(devices, files("a", "b", "c").devicesJson()))) {
            assertThat(detachWhile(once(change))).isEqualTo(DETACHED);
            assertThat(devices).hasContent(files("b", "c").devicesJson());
        }
        assertThat(detachWhile(once(() -> files("b").writeDevices()))).isEqualTo(ALREADY_DETACHED);
        assertThat(devices).hasContent(files("b").devicesJson());
        assertThat(detachWhile(once(() -> Files.delete(devices)))).isEqualTo(ALREADY_DETACHED);
        assertThat(devices).doesNotExist();
        assertThat(detachWhile(once(() -> Files.delete(lock)))).isEqualTo(DETACHED);
        assertThat(lock).exists();
    }

    @Test
    void missingDirectoryMeansAlreadyDetached() throws Exception {
        assertThat(detachWhile(once(() -> Files.move(state, folder.resolve("moved")))))
                .isEqualTo(ALREADY_DETACHED);
        assertThat(state).doesNotExist();
    }

    @Test
    void userWhoWritesAtEveryAttemptPreventsTheDetachmentAndLosesNothing() throws Exception {
        var turns = new int[1];
        var result = detachWhile(() -> files("a", "number " + turns[0]++).writeDevices());
        assertThat(result.detail()).contains("devices.json").contains("is changed repeatedly");
        assertThat(turns[0]).isEqualTo(5);
        assertThat(devices).hasContent(files("a", "number 4").devicesJson());
    }

    @Test
    void invalidFileIsLeftUnchanged() throws Exception {
        var target = Files.writeString(folder.resolve("target"), "target");
        for (var change : Map.<String, Change>of(
                        "devices.json is empty", () -> Files.writeString(devices, ""),
                        "devices.json is not JSON", () -> Files.writeString(devices, "{"),
                        "devices.json has the form",
                                () -> Files.writeString(
                                        devices, "{\"devices\": {\"0\": {\"total_memory\": null, \"eids\": {}}}}"),
                        "is a symbolic link", () -> Files.createSymbolicLink(devices, target),
                        "is not a regular file", () -> Programs.fifo(devices),
                        "larger than", () -> Files.write(devices, new byte[StateFile.LARGEST + 1]))
                .entrySet()) {
            var result = detachWhile(once(() -> {
                Files.delete(devices);
                change.getValue().happens();
            }));
            assertThat(result.outcome()).isEqualTo(Outcome.FAILED);
            assertThat(result.detail()).contains("devices.json").contains(change.getKey());
            Files.delete(devices);
        }
        assertThat(target).hasContent("target");
    }

    @Test
    void nothingIsWrittenWithoutTheLock() throws Exception {
        host.observe(Set.of());
        try (var _ = RealFlock.take(lock)) {
            Files.writeString(proc.root().resolve("locks"), Files.readString(Path.of("/proc/locks")));
            assertThat(execute(detach("a", 0)).getFirst().detail())
                    .startsWith("genv.lock is held by another program, for longer than 300 ms");
        }
        try (var _ = RealFlock.takeLease(lock)) {
            assertThat(execute(detach("a", 0)).getFirst().outcome()).isEqualTo(Outcome.FAILED);
        }
        Files.delete(lock);
        Files.createSymbolicLink(lock, folder.resolve("nowhere"));
        assertThat(execute(detach("a", 0)).getFirst().detail())
                .contains("genv.lock")
                .contains("is a symbolic link");
        assertThat(folder.resolve("nowhere")).doesNotExist();
        assertThat(devices).hasContent(files("a", "b").devicesJson());
        Files.delete(lock);
        assertThat(execute(detach("a", 0))).containsExactly(DETACHED);
        assertThat(Files.getPosixFilePermissions(lock)).isEqualTo(PosixFilePermissions.fromString("rw-rw-rw-"));
    }

    /** It waits for the lock, and keeps what its holder has written. */
    @Test
    void writesOnlyAfterTheLockIsReleased() throws Exception {
        host.observe(Set.of());
        var held = RealFlock.take(lock);
        meanwhile = once(() -> {
            files("a", "b", "c").writeDevices();
            held.close();
        });
        assertThat(execute(detach("a", 0))).containsExactly(DETACHED);
        assertThat(devices).hasContent(files("b", "c").devicesJson());
    }

    @Test
    void directoryThatIsALinkIsNotAccessed() throws Exception {
        var result = detachWhile(once(() -> {
            Files.move(state, folder.resolve("elsewhere"));
            Files.createSymbolicLink(state, folder.resolve("elsewhere"));
        }));
        assertThat(result.outcome()).isEqualTo(Outcome.FAILED);
        assertThat(folder.resolve("elsewhere/devices.json"))
                .hasContent(files("a", "b").devicesJson());
    }

    @Test
    void fullDiskLeavesTheFileUnchanged() throws Exception {
        Requirements.root();
        var mount = new ProcessBuilder("mount", "-t", "tmpfs", "-o", "size=64k", "none", state.toString());
        Requirements.mounts(mount.start().waitFor() == 0);
        try {
            files("a", "b").write();
            Files.createFile(lock);
            host.observe(Set.of());
            fill(state.resolve("full"));
            assertThat(execute(detach("a", 0)).getFirst().detail()).contains("No space left on device");
            assertNoTemporaryFile();
            assertThat(devices).hasContent(files("a", "b").devicesJson());
            Files.delete(state.resolve("full"));
            assertThat(execute(detach("a", 0))).containsExactly(DETACHED);
        } finally {
            new ProcessBuilder("umount", "-l", state.toString()).start().waitFor();
        }
    }

    private static void fill(Path file) throws IOException {
        try (var stream = Files.newOutputStream(file)) {
            while (true) {
                stream.write(new byte[512]);
            }
        } catch (IOException full) {
            assertThat(Files.size(file)).isPositive();
        }
    }
}

package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.linux.OpenFiles;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Removes attachments from a real file that other programs write too. */
@Timeout(600)
class AgentDetachTest {
    private static final Result DETACHED = Result.of(Outcome.DETACHED);
    private static final Result ALREADY_DETACHED = Result.of(Outcome.ALREADY_DETACHED);
    private final Machine machine;
    private final AgentHost agent;
    private final Path devices;
    private final Path lock;

    AgentDetachTest(@TempDir Path folder) throws IOException {
        machine = new Machine(folder).lockTimeout(Duration.ofMillis(300));
        agent = machine.agent();
        devices = machine.state.resolve("devices.json");
        lock = machine.state.resolve("genv.lock");
    }

    @BeforeEach
    void writeState() throws IOException {
        files("a", "b").write();
        Files.createFile(lock);
    }

    private StateFiles files(String... eids) {
        return machine.files().device(0, eids).device(1, "a");
    }

    @Test
    void removesOnlyTheGivenAttachment() throws Exception {
        assertThat(observeAndExecute(detach("a", 0))).containsExactly(DETACHED);
        assertThat(devices).hasContent(files("b").devicesJson());
        assertThat(Files.getPosixFilePermissions(devices)).isEqualTo(PosixFilePermissions.fromString("rw-rw-rw-"));
        assertThat(machine.state).isDirectoryNotContaining("glob:**enforcer-*");
    }

    @Test
    void detachesSeveralInOneRequest() throws Exception {
        observe();
        assertThat(execute(detach("a", 0), detach("a", 1), detach("c", 0), detach("b", 1)))
                .containsExactly(DETACHED, DETACHED, ALREADY_DETACHED, ALREADY_DETACHED);
        assertThat(machine.python.requests()).hasSize(2);
        assertThat(devices).hasContent(machine.files().device(0, "b").device(1).devicesJson());
    }

    @Test
    void leavesFileUnchangedWhenAttachmentIsGone() throws Exception {
        var written = Files.getLastModifiedTime(devices);
        assertThat(observeAndExecute(detach("c", 0))).containsExactly(ALREADY_DETACHED);
        var later =
                new Action.Detach("gpu-1", EnvBuilder.env("a").build(), 0, new Attachment("a", null, "another time"));
        assertThat(observeAndExecute(later)).containsExactly(ALREADY_DETACHED);
        assertThat(Files.getLastModifiedTime(devices)).isEqualTo(written);
    }

    @Test
    void concurrentChangesArePreserved() throws Exception {
        observe();
        files("a", "b", "c").writeDevices();
        assertThat(execute(detach("a", 0))).containsExactly(DETACHED);
        assertThat(devices).hasContent(files("b", "c").devicesJson());
        observe();
        files("c").writeDevices();
        assertThat(execute(detach("b", 0), detach("c", 0))).containsExactly(ALREADY_DETACHED, DETACHED);
        observe();
        files("c").writeDevices();
        assertThat(execute(detach("b", 0))).containsExactly(ALREADY_DETACHED);
        assertThat(devices).hasContent(files("c").devicesJson());
    }

    /** The observation found no file, so the agent is asked for its content first. */
    @Test
    void detachesFromFileThatWasAbsentWhenObserved() throws Exception {
        Files.delete(devices);
        observe();
        files("a").writeDevices();
        assertThat(execute(detach("a", 0))).containsExactly(DETACHED);
        assertThat(devices).hasContent(files().devicesJson());
    }

    @Test
    void missingStateCountsAsAlreadyDetached() throws Exception {
        observe();
        Files.delete(devices);
        assertThat(execute(detach("a", 0))).containsExactly(ALREADY_DETACHED);
        assertThat(devices).doesNotExist();
        observe();
        try (var files = Files.walk(machine.state)) {
            for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
        assertThat(execute(detach("a", 0))).containsExactly(ALREADY_DETACHED);
        assertThat(machine.state).doesNotExist();
    }

    @Test
    void leavesInvalidFileUnchanged() throws Exception {
        for (var content : List.of("", "{", "{\"devices\": {\"0\": {\"total_memory\": null, \"eids\": {}}}}")) {
            observe();
            Files.writeString(devices, content);
            assertThat(execute(detach("a", 0)))
                    .singleElement()
                    .satisfies(result -> assertThat(result.outcome()).isEqualTo(Outcome.FAILED))
                    .satisfies(result -> assertThat(result.detail()).startsWith("devices.json "));
            assertThat(devices).hasContent(content);
            files("a", "b").writeDevices();
        }
    }

    @Test
    void namesTheHolderOfTheLock() throws Exception {
        observe();
        try (var _ = RealFlock.take(lock)) {
            assertFailed("genv.lock is held by another program, for longer than 300 ms: process %d (java) of uid %d"
                    .formatted(ProcessHandle.current().pid(), CurrentProcess.uid()));
        }
        assertThat(devices).hasContent(files("a", "b").devicesJson());
        assertThat(execute(detach("a", 0))).containsExactly(DETACHED);
    }

    /** The agent waits for the lock, and keeps what its holder has written. */
    @Test
    void writesOnlyUnderTheLock() throws Exception {
        var patient = machine.lockTimeout(Duration.ofSeconds(30)).agent();
        patient.observe(machine.python, Set.of());
        var held = RealFlock.take(lock);
        var release = Thread.ofPlatform().start(() -> {
            await().until(() ->
                    ProcessHandle.current().descendants().anyMatch(process -> OpenFiles.has(process, lock)));
            try {
                files("a", "b", "c").writeDevices();
                held.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        patient.execute(
                machine.python,
                List.of(detach("a", 0)),
                (_, result) -> assertThat(result).isEqualTo(DETACHED));
        release.join();
        assertThat(devices).hasContent(files("b", "c").devicesJson());
    }

    /** A user who writes without the lock again and again prevents the detachment, and loses no change. */
    @Test
    void failsWhenTheFileChangesAtEveryAttempt() throws Exception {
        observe();
        var trips = new int[1];
        var results = new LinkedHashMap<Action, Result>();
        var action = detach("a", 0);
        agent.execute(
                request -> {
                    try {
                        files("a", "number " + trips[0]++).writeDevices();
                    } catch (IOException e) {
                        throw new UnreachableException(ProblemCode.UNREACHABLE, "", e);
                    }
                    return machine.python.request(request);
                },
                List.of(action),
                results::put);
        assertThat(Objects.requireNonNull(results.get(action)).detail()).contains("is changed repeatedly");
        assertThat(trips[0]).isEqualTo(5);
        assertThat(devices).hasContent(files("a", "number 4").devicesJson());
    }

    @Test
    void detachesAndTerminatesInOneRequest() throws Exception {
        try (var child = Child.inEnvironment("a")) {
            machine.nvidiaSmi.process(0, child.pid(), "1");
            var process = observe().getFirst();
            var terminate = new Action.Terminate("gpu-1", process);
            assertThat(execute(detach("a", 0), terminate)).containsExactly(DETACHED, Result.of(Outcome.SIGNALLED));
            assertThat(child.awaitExit()).isEqualTo(143);
            assertThat(machine.python.requests()).hasSize(2);
        }
    }

    private List<GpuProcess> observe() throws Exception {
        return agent.observe(machine.python, Set.of()).processes();
    }

    private void assertFailed(String why) throws Exception {
        assertThat(execute(detach("a", 0))).containsExactly(Result.failed(why));
    }

    private static Action.Detach detach(String eid, int device) {
        return new Action.Detach(
                "gpu-1", EnvBuilder.env(eid).build(), device, new Attachment(eid, null, StateFiles.TIME));
    }

    private List<Result> observeAndExecute(Action... actions) throws Exception {
        observe();
        return execute(actions);
    }

    private List<Result> execute(Action... actions) throws Exception {
        Map<Action, Result> results = new LinkedHashMap<>();
        agent.execute(machine.python, List.of(actions), (action, result) -> {
            assertThat(results).doesNotContainKey(action);
            results.put(action, result);
        });
        return Stream.of(actions).map(results::get).toList();
    }
}

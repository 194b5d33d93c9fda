package dev.genv.enforcer.observation.table;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.ObservedHost;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.host.Machine.SignalRequest;
import dev.genv.enforcer.host.Machine.SignalResult;
import dev.genv.enforcer.host.Machine.SignalResult.Kind;
import dev.genv.enforcer.host.ObservationRequest;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.observation.table.FakeMachine.Hands;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.DeviceFileHolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Whether both hands find that a process uses a device file. {@code /dev/zero} (1:5) stands for a device of the driver.
 * A {@code /proc} with such a driver has fake processes and links to real ones, so that no other process is found.
 */
@Timeout(600)
@ParameterizedClass
@EnumSource
class DeviceTableTest {
    private static final SignalResult SENT = SignalResult.of(Kind.SENT);
    private static final SignalResult WITHOUT_DEVICE = SignalResult.of(Kind.WITHOUT_DEVICE);
    private static final Path NO_DEVICE = Path.of("/etc/passwd");
    private static final Path OTHER_DEVICE = Path.of("/dev/null");

    @Parameter
    Hands hands;

    @TempDir
    Path folder;

    private FakeMachine fake;
    private ObservedHost host;

    @BeforeEach
    void create() throws IOException {
        fake = new FakeMachine(hands, folder);
        fake.useRealTime();
        fake.tool.gpus(1);
        DeviceFileHolder.write(proc());
        host = fake.host();
    }

    private Path proc() {
        return fake.proc.root();
    }

    private FakeNvidiaSmi smi() {
        return fake.tool;
    }

    private Snapshot observe() throws Exception {
        return host.observe(Set.of());
    }

    private Result execute(Action action) throws Exception {
        var results = new ArrayList<Result>();
        host.execute(List.of(action), (_, result) -> results.add(result));
        return results.getFirst();
    }

    @Test
    void examinesTheFilesAfterOneThatCannotBeExamined() throws Exception {
        try (var child = Child.withEnvironment(Map.of())) {
            var process = listed(child);
            refuse(process.file("fd/0"));
            var file = Files.createSymbolicLink(process.file("fd/1"), NO_DEVICE);
            assertNotExamined(child);
            Files.delete(file);
            Files.createSymbolicLink(file, DeviceFileHolder.FILE);
            assertThat(terminate()).isEqualTo(Result.of(Outcome.SIGNALLED));
            child.awaitExit();
        }
    }

    /** Without the capability for it, no mapping can be examined. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void comparesAMappingWithTheDeviceFiles(boolean isInContainer) throws Exception {
        try (var child = Child.withEnvironment(Map.of())) {
            var process = listed(child);
            refuse(process.file("fd/0"));
            map(process, DeviceFileHolder.FILE);
            assertNotExamined(child);
            var root = isInContainer ? process.file("root") : proc().resolve("1/root");
            addDevice(root);
            assertThat(terminate()).isEqualTo(Result.of(Outcome.SIGNALLED));
            child.awaitExit();
        }
    }

    @Test
    void mappingOfAnotherFileIsNoProof() throws Exception {
        try (var child = Child.withEnvironment(Map.of())) {
            var process = listed(child);
            map(process, NO_DEVICE);
            addDevice(proc().resolve("1/root"));
            assertNotExamined(child);
            Files.delete(process.file("map_files").resolve(DeviceFileHolder.RANGE));
            Files.createSymbolicLink(process.file("map_files").resolve(DeviceFileHolder.RANGE), NO_DEVICE);
            assertThat(terminate().detail()).contains("no device file of the NVIDIA driver open");
        }
    }

    /** Each thread shows the files of the process again. */
    @Test
    void mappingCountsAfterMoreFilesThanAreExamined() throws Exception {
        try (var child = Child.withEnvironment(Map.of())) {
            var process = listed(child);
            for (var number = 0; number < 1000; number++) {
                Files.createSymbolicLink(process.file("fd/" + number), NO_DEVICE);
            }
            for (var thread = 1000; thread < 1070; thread++) {
                var folder = Files.createDirectories(process.file("task/" + thread));
                Files.createSymbolicLink(folder.resolve("fd"), process.file("fd"));
            }
            map(process, NO_DEVICE);
            await("an answer in time, also on a slow machine").untilAsserted(() -> assertNotExamined(child));
            map(process, DeviceFileHolder.FILE);
            addDevice(proc().resolve("1/root"));
            await("an answer in time, also on a slow machine")
                    .untilAsserted(() -> assertThat(terminate()).isEqualTo(Result.of(Outcome.SIGNALLED)));
            child.awaitExit();
        }
    }

    /** A process of which the kernel shows neither files nor mappings. */
    private FakeProc.FakeProcess listed(Child child) throws IOException {
        var process = new FakeProc(proc()).process(child.pid()).uid(1003);
        Files.createDirectory(process.file("fd"));
        Files.createDirectory(process.file("task"));
        DeviceFileHolder.write(proc());
        smi().process(0, child.pid(), "1");
        return process;
    }

    /** Root cannot examine a file of another user's FUSE mount. A link to itself cannot be examined either. */
    private static void refuse(Path link) throws IOException {
        Files.deleteIfExists(link);
        Files.createSymbolicLink(link, link);
    }

    private static void map(FakeProc.FakeProcess process, Path file) throws IOException {
        refuse(DeviceFileHolder.writeMapping(process, file));
    }

    private static void addDevice(Path root) throws IOException {
        Files.createSymbolicLink(
                Files.createDirectories(root.resolve("dev")).resolve("nvidia5"), DeviceFileHolder.FILE);
    }

    private Result terminate() throws Exception {
        return execute(new Action.Terminate("gpu-1", observe().processes().getFirst(), Signal.TERM));
    }

    private void assertNotExamined(Child child) throws Exception {
        var result = terminate();
        assertThat(result.outcome()).isEqualTo(Outcome.FAILED);
        assertThat(result.detail()).contains("it is listed, but its open files cannot be examined");
        assertThat(child.isAlive()).isTrue();
    }

    /** Lines of the drivers, and what becomes of the signal to a process that has {@code /dev/null} (1:3) open or nothing. */
    @Test
    void openDeviceIsFoundByItsNumber() throws Exception {
        try (var child = Child.withEnvironment(Map.of())) {
            var process = listed(child);
            assertThat(signal(child, "  1 nvidia")).isEqualTo(WITHOUT_DEVICE);
            Files.createSymbolicLink(process.file("fd/3"), OTHER_DEVICE);
            for (var line : List.of("  1 mem", "  1 nvidia-caps", "  5 nvidia", "  1 nvidia0", "  1 my nvidia")) {
                assertThat(signal(child, line + "\n509 nvidia")).as(line).isEqualTo(WITHOUT_DEVICE);
            }
            Files.delete(proc().resolve("devices"));
            assertThat(signal(child)).isEqualTo(new SignalResult(Kind.UNEXAMINED, "No such file or directory"));
            assertThat(child.isAlive()).isTrue();
        }
        for (var lines : List.of(
                "  1 nvidia",
                "  1 nvidia-frontend\n509 nvidia",
                "  1 nvidiactl\n509 nvidia",
                "  1 nvidia-uvm\n509 nvidia")) {
            try (var child = Child.withEnvironment(Map.of())) {
                Files.createSymbolicLink(listed(child).file("fd/3"), OTHER_DEVICE);
                assertThat(signal(child, lines)).as(lines).isEqualTo(SENT);
                child.awaitExit();
            }
        }
    }

    @Test
    void withoutTheDriverNoDeviceFileIsRequired() throws Exception {
        try (var child = Child.withEnvironment(Map.of())) {
            listed(child);
            assertThat(signal(child, "  1 mem")).isEqualTo(SENT);
            child.awaitExit();
        }
    }

    @Test
    void filesOfAnotherThreadCount() throws Exception {
        try (var child = Child.withEnvironment(Map.of())) {
            var thread = Files.createDirectories(listed(child).file("task/813/fd"));
            Files.createSymbolicLink(thread.resolve("3"), OTHER_DEVICE);
            assertThat(signal(child, "  1 nvidia")).isEqualTo(SENT);
            child.awaitExit();
        }
    }

    private SignalResult signal(Child child, String lines) throws Exception {
        Files.writeString(
                proc().resolve("devices"),
                "Character devices:\n  5 /dev/tty\n%s\n\nBlock devices:\n  1 nvidia\n259 blkext\n".formatted(lines));
        return signal(child);
    }

    private SignalResult signal(Child child) throws Exception {
        var machine = fake.machine();
        machine.observe(new ObservationRequest(Set.of()));
        var results = new ArrayList<SignalResult>();
        machine.signal(
                List.of(new SignalRequest(new ProcessId(child.pid(), 1000), false)),
                (_, result) -> results.add(result));
        return results.getFirst();
    }
}

package dev.genv.enforcer.testsupport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Snapshot.Unlisted;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.linux.DeviceFileHolder;
import dev.genv.enforcer.testsupport.linux.SteppedProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.assertj.core.groups.Tuple;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What every adapter must find of listed and unlisted processes that use a device file. A {@code /proc} with a driver for that file links
 * to real processes, so that no other process is found.
 */
@Timeout(600)
public abstract class UnlistedSuite {
    private static final Path NO_DEVICE = Path.of("/etc/passwd");
    private static final String RANGE = "7f0000000000-7f0000001000";
    private static final Map<String, String> MEMBER = Map.of("GENV_ENVIRONMENT_ID", "15971");

    /** The {@code /proc} of the machine. */
    protected abstract Path proc();

    /** The GPU tool of the machine, which lists the device 0. */
    protected abstract FakeNvidiaSmi smi();

    protected abstract Snapshot observe() throws Exception;

    protected abstract Result execute(Action action) throws Exception;

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
            Files.delete(process.file("map_files").resolve(RANGE));
            Files.createSymbolicLink(process.file("map_files").resolve(RANGE), NO_DEVICE);
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
            assertThat(terminate()).isEqualTo(Result.of(Outcome.SIGNALLED));
            child.awaitExit();
        }
    }

    /** A process of which the kernel shows neither files nor mappings. */
    private FakeProc.FakeProcess listed(Child child) throws IOException {
        var process = new FakeProc(proc()).process(child.pid()).uid(1003);
        Files.createDirectory(process.file("fd"));
        Files.createDirectory(process.file("task"));
        DeviceFileHolder.write(proc(), FakeNvidiaSmi.uuid(0));
        smi().process(0, child.pid(), "1");
        return process;
    }

    /** Root cannot examine a file of another user's FUSE mount. A link to itself cannot be examined either. */
    private static void refuse(Path link) throws IOException {
        Files.deleteIfExists(link);
        Files.createSymbolicLink(link, link);
    }

    private static void map(FakeProc.FakeProcess process, Path file) throws IOException {
        refuse(writeMapping(process, file));
    }

    /** Writes a mapping of a file, and returns the place of its link. */
    private static Path writeMapping(FakeProc.FakeProcess process, Path file) throws IOException {
        var device = (long) Files.getAttribute(file, "unix:dev");
        Files.writeString(
                process.file("maps"),
                "%s rw-s 00000000 %02x:%02x %d  /any name\n"
                        .formatted(RANGE, device >>> 8, device & 0xff, (long) Files.getAttribute(file, "unix:ino")));
        return Files.createDirectories(process.file("map_files")).resolve(RANGE);
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

    private Snapshot observe(int times) throws Exception {
        var snapshot = observe();
        for (var i = 1; i < times; i++) {
            snapshot = observe();
        }
        return snapshot;
    }

    private void use(int mebibytes) throws IOException {
        smi().gpuLines("0, %s, %d\n".formatted(FakeNvidiaSmi.uuid(0), mebibytes));
    }

    private void link(int... pids) throws IOException {
        DeviceFileHolder.write(proc(), FakeNvidiaSmi.uuid(0), pids);
    }

    /** A process that was just started may be listed in a moment. */
    @Test
    void mappingProvesUseInTheSecondObservation() throws Exception {
        try (var holder = DeviceFileHolder.start(MEMBER, "")) {
            link(holder.pid());
            use(4096);
            assertThat(observe(4).unlisted().holders().getFirst().used()).isEmpty();
            assertThat(observe().unlisted().holders().getFirst().used()).containsExactly(0);
        }
    }

    /** A fork without an execve(2) leaves the mappings of the parent to the child. */
    @Test
    void workerOfAListedProcessProvesNoUse(@TempDir Path folder) throws Exception {
        try (var holder = SteppedProcess.start(folder, MEMBER, "hold:" + DeviceFileHolder.FILE, "fork", "fork")) {
            var parent = holder.leftBehind(0);
            var middle = holder.leftBehind(1);
            link(parent, middle, holder.pid());
            smi().process(0, parent, "100");
            use(4096);
            assertThat(observe(6).unlisted().holders())
                    .hasSize(2)
                    .allSatisfy(worker -> assertThat(worker.used()).isEmpty());
            smi().noProcesses();
            assertThat(observe(2).unlisted().holders())
                    .extracting(each -> each.process().pid(), Unlisted.Holder::used)
                    .contains(Tuple.tuple(middle, List.of(0)), Tuple.tuple(holder.pid(), List.of(0)));
        }
    }

    /** Adds a process with one mapping, whose file may be another one than the one that is listed. */
    protected final FakeProc.FakeProcess map(int pid, Path listed, Path mapped) throws IOException {
        var process = new FakeProc(proc()).process(pid);
        Files.createDirectory(process.file("fd"));
        Files.createSymbolicLink(writeMapping(process, listed), mapped);
        return process;
    }

    private static List<String> problems(Snapshot snapshot) {
        return snapshot.problems().stream()
                .filter(problem -> problem.code() == ProblemCode.GPU_UNLISTED)
                .map(Problem::detail)
                .toList();
    }

    @Test
    void reportsTheHolderOfMemoryThatLastsUnexplained() throws Exception {
        try (var holder = DeviceFileHolder.start(MEMBER, "");
                var other = Child.withEnvironment(MEMBER)) {
            link(holder.pid(), other.pid());
            use(4096);
            var third = observe(3);
            assertThat(third.unlisted().holders()).isEmpty();
            assertThat(problems(third)).isEmpty();
            var fourth = observe();
            assertThat(fourth.unlisted().processes()).singleElement().satisfies(process -> {
                assertThat(process.pid()).isEqualTo(holder.pid());
                assertThat(process.devices()).containsExactly(0);
                assertThat(process.memoryOn(0)).isNull();
                assertThat(process.membership()).isEqualTo(new Membership.InEnvironment("15971"));
            });
            assertThat(problems(fourth))
                    .singleElement()
                    .asString()
                    .startsWith("process %d of uid %d (python3".formatted(holder.pid(), CurrentProcess.uid()))
                    .endsWith("holds device 0, but is not listed; 4096 MiB on device 0 belong to no listed process");
            use(5000);
            var fifth = observe();
            assertThat(problems(fifth)).isEqualTo(problems(fourth));
            assertThat(fifth.unlisted().memory()).containsExactly(Map.entry(0, Memory.ofMebibytes(5000)));
            assertThat(fifth.unlisted().holders().getFirst().since())
                    .isEqualTo(fourth.unlisted().holders().getFirst().since());
        }
    }

    @Test
    void reportsNothingOnceTheMemoryIsExplained() throws Exception {
        try (var holder = DeviceFileHolder.start(MEMBER, "")) {
            link(holder.pid());
            use(4096);
            observe(4);
            smi().process(0, holder.pid(), "4096");
            assertThat(observe().unlisted().memory()).isEmpty();
        }
    }
}

package dev.genv.enforcer.testsupport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.DeviceFileHolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What proves that a listed process uses the driver, for every adapter. */
abstract class ListedUseSuite {
    private static final Path NO_DEVICE = Path.of("/etc/passwd");
    private static final String RANGE = "7f0000000000-7f0000001000";

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
            assertNotExamined(child);
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
        var device = (long) Files.getAttribute(file, "unix:dev");
        Files.writeString(
                process.file("maps"),
                "%s rw-s 00000000 %02x:%02x %d  /any name\n"
                        .formatted(RANGE, device >>> 8, device & 0xff, (long) Files.getAttribute(file, "unix:ino")));
        refuse(Files.createDirectories(process.file("map_files")).resolve(RANGE));
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
}

package dev.genv.enforcer.testsupport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.HostFacts.HolderFacts;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Snapshot.Unlisted;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.DeviceFileHolder;
import dev.genv.enforcer.testsupport.linux.SteppedProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.assertj.core.groups.Tuple;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What proves that an unlisted process uses a GPU, for every adapter. */
@Timeout(600)
abstract class UnlistedUseSuite extends ListedUseSuite {
    /** Of a file that is no device. */
    private static final Path LIBRARY = Path.of("/etc/passwd");

    private static final int FIRST_FAKE = 4_000_000;

    static final Map<String, String> MEMBER = Map.of("GENV_ENVIRONMENT_ID", "15971");

    Snapshot observe(int times) throws Exception {
        var snapshot = observe();
        for (var i = 1; i < times; i++) {
            snapshot = observe();
        }
        return snapshot;
    }

    void use(int mebibytes) throws IOException {
        smi().gpuLines("0, %s, %d\n".formatted(FakeNvidiaSmi.uuid(0), mebibytes));
    }

    void link(int... pids) throws IOException {
        DeviceFileHolder.write(proc(), FakeNvidiaSmi.uuid(0), pids);
    }

    /** Another user can pass a descriptor to a process that accepts it. */
    @Test
    void fileThatAnotherProcessHasPassedProvesNoUse(@TempDir Path folder) throws Exception {
        try (var receiver = DeviceFileHolder.receive(folder.resolve("socket"), MEMBER)) {
            link(receiver.pid());
            use(4096);
            var found = observe(6).unlisted().holders();
            assertThat(found)
                    .extracting(holder -> holder.process().pid(), Unlisted.Holder::used)
                    .containsExactly(Tuple.tuple(receiver.pid(), List.of()));
        }
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

    /**
     * A process can map another file at an address after the kernel has listed its mappings. What it maps then says nothing about other
     * processes that map the listed file.
     */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void mappingThatChangesAfterItWasListedIsThatOfOneProcess(boolean isListedAsTheGpu) throws Exception {
        var listed = isListedAsTheGpu ? DeviceFileHolder.FILE : LIBRARY;
        var other = isListedAsTheGpu ? LIBRARY : DeviceFileHolder.FILE;
        map(FIRST_FAKE + 2, listed, other); // the newest process of a user is examined first
        map(FIRST_FAKE + 1, listed, listed);
        link();
        use(4096);
        assertThat(observe(4).unlisted().processes())
                .extracting(GpuProcess::pid)
                .containsExactly(FIRST_FAKE + (isListedAsTheGpu ? 1 : 2));
    }

    /** With a status of each file, one process would take the time for all. */
    @Test
    void examinesALimitedNumberOfMappedFilesBesidesThoseThatAreOpen() throws Exception {
        var others = IntStream.rangeClosed(1, HolderFacts.MOST_FILES)
                .mapToObj("00001000-00002000 r--s 00000000 fd:ff %d  /any name\n"::formatted)
                .collect(Collectors.joining());
        for (var pid : List.of(FIRST_FAKE + 1, FIRST_FAKE + 2)) {
            var process = map(pid, DeviceFileHolder.FILE, DeviceFileHolder.FILE);
            var maps = process.file("maps");
            Files.writeString(maps, others + Files.readString(maps));
            if (pid == FIRST_FAKE + 1) {
                Files.createSymbolicLink(process.file("fd").resolve("3"), DeviceFileHolder.FILE);
                Files.writeString(
                        Files.createDirectory(process.file("fdinfo")).resolve("3"), "pos:\t0\nflags:\t0100002\n");
            }
        }
        link();
        use(4096);
        assertThat(observe(6).unlisted().holders())
                .extracting(holder -> holder.process().pid(), Unlisted.Holder::used)
                .containsExactly(Tuple.tuple(FIRST_FAKE + 1, List.of(0)));
    }

    /** Adds a process with one mapping, whose file may be another one than the one that is listed. */
    protected final FakeProc.FakeProcess map(int pid, Path listed, Path mapped) throws IOException {
        var process = new FakeProc(proc()).process(pid);
        Files.createDirectory(process.file("fd"));
        var range = "7f0000000000-7f0000001000";
        var device = (long) Files.getAttribute(listed, "unix:dev");
        Files.writeString(
                process.file("maps"),
                "%s rw-s 00000000 %02x:%02x %d  /any name\n"
                        .formatted(range, device >>> 8, device & 0xff, (long) Files.getAttribute(listed, "unix:ino")));
        Files.createSymbolicLink(
                Files.createDirectory(process.file("map_files")).resolve(range), mapped);
        return process;
    }
}

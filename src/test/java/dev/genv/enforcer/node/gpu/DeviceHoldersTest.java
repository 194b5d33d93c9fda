package dev.genv.enforcer.node.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.host.HostFacts.HolderFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.proc.ProcessReader;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.DeviceFileHolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Device numbers are those of {@code /dev/zero} (1:5) and of files that are no GPU's. */
@Timeout(600)
class DeviceHoldersTest {
    private static final Path GPU = DeviceFileHolder.FILE;
    private static final Path OTHER = Path.of("/etc/passwd");
    private final Path root;
    private final FakeProc proc;
    private final DeviceHolders holders;

    DeviceHoldersTest(@TempDir Path folder) throws IOException {
        root = folder;
        proc = new FakeProc(folder);
        DeviceFileHolder.write(folder, "GPU-5");
        var fs = new ProcFs(folder);
        holders = new DeviceHolders(fs, new NvidiaDevices(folder), () -> 0); // so that no time passes
    }

    private void link(int pid, String name, Path target) throws IOException {
        if (!Files.exists(root.resolve(Integer.toString(pid)))) {
            proc.process(pid);
        }
        var link = root.resolve(Integer.toString(pid)).resolve(name);
        Files.createDirectories(link.getParent());
        Files.createSymbolicLink(link, target);
    }

    private HolderFacts search(Integer... listed) {
        var reader = new ProcessReader(new ProcFs(root));
        var found = await("answers in time, also on a slow machine")
                .until(
                        () -> holders.search(Set.of(listed)),
                        search -> !search.incomplete().contains("not answer"));
        return found.facts(found.pids().stream().map(pid -> reader.read(pid)).toList());
    }

    private List<Integer> found(Integer... listed) {
        return search(listed).holders().stream()
                .map(HolderFacts.Holder::process)
                .map(ProcessFacts::pid)
                .toList();
    }

    /** As a file on another user's FUSE mount; a link to itself cannot be examined either. */
    @Test
    void skipsAFileThatCannotBeExamined() throws IOException {
        link(5, "fd/0", root.resolve("5/fd/0"));
        link(5, "fd/3", GPU);
        assertThat(found()).containsExactly(5);
        assertThat(search().incomplete())
                .startsWith("the open files of a process cannot be examined")
                .contains("Too many levels of symbolic links");
    }

    /**
     * As if the service lacked the privilege to examine {@code map_files}. A user's own file system can give a path any numbers, but no
     * user can open a device file there.
     */
    @ParameterizedTest
    @CsvSource({"0100002, true", "010100000, false"})
    void mappingIsThatOfAFileThatWasOpened(String flags, boolean isMapped) throws IOException {
        link(5, "fd/3", GPU);
        var folder = Files.createDirectories(root.resolve("5/fdinfo"));
        Files.writeString(folder.resolve("3"), "pos:\t0\nflags:\t%s\nmnt_id:\t22\n".formatted(flags));
        var device = (long) Files.getAttribute(GPU, "unix:dev");
        Files.writeString(
                root.resolve("5/maps"),
                "00400000-00401000 rw-s 00000000 %02x:%02x %d                        /any name\n"
                        .formatted(device >>> 8, device & 0xff, (long) Files.getAttribute(GPU, "unix:ino")));
        assertThat(search().holders()).singleElement().satisfies(holder -> {
            assertThat(holder.minors()).containsExactly(DeviceFileHolder.MINOR);
            assertThat(holder.mapped().contains(DeviceFileHolder.MINOR)).isEqualTo(isMapped);
        });
    }

    @Test
    void ignoresListedProcessesAndKernelThreads() throws IOException {
        link(5, "fd/3", GPU);
        link(6, "fd/3", GPU);
        link(7, "fd/3", GPU);
        proc.process(7).kernelThread();
        assertThat(found(6)).containsExactly(5);
    }

    /** A user can have so many processes that there is no time for all. */
    @Test
    void examinesTheNewestProcessesIfThereIsNoTimeToListAll() throws IOException {
        for (var pid = 1; pid <= 20; pid++) {
            link(pid, "fd/3", GPU);
        }
        var time = new AtomicLong();
        var fs = new ProcFs(root);
        var slow = new DeviceHolders(
                fs,
                new NvidiaDevices(root),
                () -> time.getAndAdd(Duration.ofMillis(80).toNanos()));
        var found = slow.search(Set.of());
        assertThat(found.pids()).isNotEmpty().isSubsetOf(20, 19, 18, 17, 16, 15);
        assertThat(found.incomplete()).isEqualTo("the time for the search was used up");
    }

    @Test
    void saysThatAProcessHasTooManyFiles() throws IOException {
        proc.process(5);
        var folder = Files.createDirectories(root.resolve("5/fd"));
        for (var i = 0; i <= HolderFacts.MOST_FILES; i++) {
            Files.createSymbolicLink(folder.resolve(Integer.toString(i)), OTHER);
        }
        link(6, "fd/3", GPU);
        assertThat(search().incomplete()).isNotEmpty();
        assertThat(found()).containsExactly(6);
    }
}

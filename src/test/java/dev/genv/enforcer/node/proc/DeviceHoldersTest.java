package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.facts.HolderFacts;
import dev.genv.enforcer.facts.ProcessFacts;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.DeviceFileHolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Device numbers are those of {@code /dev/full} (1:7) and of files that are no GPU's. */
@Timeout(600)
class DeviceHoldersTest {
    private static final Path GPU = Path.of("/dev/full");
    private static final Path OTHER = Path.of("/etc/passwd");
    private final Path root;
    private final FakeProc proc;
    private final DeviceHolders holders;

    DeviceHoldersTest(@TempDir Path folder) throws IOException {
        root = folder;
        proc = new FakeProc(folder);
        DeviceFileHolder.write(folder, "GPU-7");
        var fs = new ProcFs(folder);
        holders = new DeviceHolders(folder, fs, new NvidiaDevices(folder, folder.resolve("nvidiactl")));
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
        var found = holders.search(Set.of(listed));
        return found.facts(
                found.pids().stream().map(pid -> reader.read(pid, List.of())).toList());
    }

    private List<Integer> found(Integer... listed) {
        return search(listed).holders().stream()
                .map(HolderFacts.Holder::process)
                .map(ProcessFacts::pid)
                .toList();
    }

    @Test
    void findsAnOpenFile() throws IOException {
        link(5, "fd/3", GPU);
        var facts = search();
        assertThat(facts.holders())
                .singleElement()
                .satisfies(holder -> assertThat(holder.minors()).containsExactly(DeviceFileHolder.MINOR));
        assertThat(facts.incomplete()).isEmpty();
        assertThat(facts.gpus())
                .hasSize(2)
                .anySatisfy(gpu -> assertThat(gpu.text()).contains("GPU-7", "Device Minor: \t 7"));
    }

    @Test
    void findsAMappingWithoutADescriptor() throws IOException {
        link(5, "fd/0", OTHER);
        link(5, "map_files/7f0000000000-7f0000001000", GPU);
        assertThat(search().holders())
                .singleElement()
                .satisfies(holder -> assertThat(holder.minors()).containsExactly(DeviceFileHolder.MINOR));
    }

    @Test
    void findsAFileOfAThreadAfterTheFirstOneHasExited() throws IOException {
        proc.process(5);
        Files.createDirectories(root.resolve("5/fd"));
        link(5, "task/6/fd/3", GPU);
        assertThat(found()).containsExactly(5);
    }

    @Test
    void ignoresTheTextOfALink() throws IOException {
        var imitation =
                Files.createFile(Files.createDirectories(root.resolve("dev")).resolve("nvidia7"));
        link(5, "fd/3", imitation);
        link(6, "fd/3", Path.of("/dev/nvidia7"));
        assertThat(search().holders()).isEmpty();
    }

    @Test
    void ignoresFilesOfOtherDrivers() throws IOException {
        link(5, "fd/3", Path.of("/dev/tty"));
        assertThat(search().holders()).isEmpty();
    }

    @Test
    void ignoresListedProcessesAndKernelThreads() throws IOException {
        link(5, "fd/3", GPU);
        link(6, "fd/3", GPU);
        link(7, "fd/3", GPU);
        proc.process(7).kernelThread();
        assertThat(found(6)).containsExactly(5);
    }

    @Test
    void findsNothingWithoutTheDriver() throws IOException {
        link(5, "fd/3", GPU);
        Files.writeString(root.resolve("devices"), "Character devices:\n  1 mem\n\nBlock devices:\n  1 nvidia\n");
        assertThat(search().holders()).isEmpty();
        assertThat(search().incomplete()).isEmpty();
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

    @Test
    void comparesTheFilesOfOneProcess() throws Exception {
        try (var holder = DeviceFileHolder.start(Map.of(), "")) {
            DeviceFileHolder.write(root, "GPU-7", holder.pid());
            var id = new ProcessId(holder.pid(), holder.child().startTime());
            assertThat(holders.holdsOneOf(id, 0, Set.of(DeviceFileHolder.MINOR)))
                    .isTrue();
            assertThat(holders.holdsOneOf(id, 0, Set.of(3))).isFalse();
        }
    }
}

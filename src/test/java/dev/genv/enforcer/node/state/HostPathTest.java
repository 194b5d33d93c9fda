package dev.genv.enforcer.node.state;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.state.StateAccess.HostPath;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A container in which {@code folder/genv} is a mount of the host's {@code /data/srv/genv}. */
class HostPathTest {
    private final Path folder;
    private final Path directory;
    private final FakeProc fake;
    private final HostPath host;

    HostPathTest(@TempDir Path folder) throws IOException {
        this.folder = folder.toRealPath();
        directory = this.folder.resolve("genv");
        fake = new FakeProc(this.folder.resolve("proc"));
        host = new HostPath(directory, new ProcFs(fake.root()));
    }

    @BeforeEach
    void createDirectoryAndMounts() throws IOException {
        Files.createDirectory(directory);
        fake.mountNamespace("self", 4026532281L).mountNamespace("1", 4026531841L);
        mountOf("/srv/genv");
        fake.mounts(
                "1",
                "22 1 254:0 / / rw - ext4 /dev/root rw",
                "23 22 98:0 /etc /mnt rw - ext4 /dev/sda rw",
                "24 22 98:0 / /data rw - ext4 /dev/sda rw");
        linkHostDirectoryTo(folder);
    }

    /** The directory itself ends the path that stands for DIRECTORY. Somebody may put a link into the way of the mount. */
    @ParameterizedTest
    @CsvSource({
        "DIRECTORY, false",
        "/genv, false",
        "/, false",
        "/subvolumeDIRECTORY, false",
        "/usr/local/sbin, true",
        "/srv/genv, true",
        "/xgenv, true",
        "/genv//deleted, true",
    })
    void differentPathOnTheHostIsReported(String root, boolean isDifferent) throws IOException {
        mountOf(root.replace("DIRECTORY", directory.toString()));
        assertThat(host.differentPath()).isEqualTo(isDifferent ? Optional.of(Path.of(root)) : Optional.empty());
    }

    @Test
    void directoryThatIsNoMountIsNotReported() throws IOException {
        fake.mounts("self", "36 22 98:0 /data %s rw - ext4 /dev/sda rw".formatted(folder));
        assertThat(host.differentPath()).isEmpty();
    }

    private void mountOf(String root) throws IOException {
        fake.mounts(
                "self",
                "22 1 0:30 / / rw - overlay overlay rw",
                "36 22 98:0 %s %s rw - ext4 /dev/sda rw".formatted(root, directory));
    }

    @Test
    void anotherOrNoDirectoryInPlaceOfTheHostsIsReported() throws IOException {
        assertThat(moved()).isEmpty();
        var empty = Files.createDirectory(folder.resolve("empty"));
        var replaced = Files.createDirectory(folder.resolve("replaced"));
        Files.createDirectory(replaced.resolve("genv"));
        var linked = Files.createDirectory(folder.resolve("linked"));
        Files.createSymbolicLink(linked.resolve("genv"), directory);
        for (var parent : List.of(empty, replaced, linked)) {
            linkHostDirectoryTo(parent);
            assertThat(moved()).as(parent.toString()).contains(new Directory.Stale("/data/srv/genv"));
        }
        linkHostDirectoryTo(folder);
        assertThat(moved()).isEmpty();
    }

    @Test
    void removedButMountedDirectoryIsReported() throws IOException {
        try (var open = requireNonNull(StateDirectory.open(directory))) {
            Files.delete(directory);
            assertThat(host.check(open.status())).contains(new Directory.Stale(""));
        }
    }

    @Test
    void comparesNothingOutsideContainers() throws IOException {
        fake.mountNamespace("self", 4026531841L);
        linkHostDirectoryTo(Files.createDirectory(folder.resolve("empty")));
        assertThat(moved()).isEmpty();
        assertThat(moved()).isEmpty();
    }

    @Test
    void unreadableMountInformationIsNoProblem() throws IOException {
        fake.mounts("1", "22 1 254:0 / / rw - ext4 /dev/root rw");
        assertThat(moved()).isEmpty();
        linkHostDirectoryTo(Files.createDirectory(folder.resolve("empty")));
        assertThat(moved()).isEmpty();
        Files.delete(fake.root().resolve("1/mountinfo"));
        assertThat(moved()).isEmpty();
        Files.delete(fake.root().resolve("1/ns/mnt"));
        assertThat(moved()).isEmpty();
    }

    private void linkHostDirectoryTo(Path parent) throws IOException {
        var link = Files.createDirectories(fake.root().resolve("1/root/data")).resolve("srv");
        Files.deleteIfExists(link);
        Files.createSymbolicLink(link, parent);
    }

    private Optional<Directory.Stale> moved() throws IOException {
        try (var open = requireNonNull(StateDirectory.open(directory))) {
            return host.check(open.status());
        }
    }
}

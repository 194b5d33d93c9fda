package dev.genv.enforcer.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.FileCalls.FileStatus;
import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which users and groups may write the database. */
class DataFolderTest {
    private static final Path PATH = Path.of("/var/lib/genv-enforcer");
    /** A pod with the user and fsGroup 65532, and a further group. */
    private static final DataFolder.Access POD = new DataFolder.Access(65_532, Set.of(65_532L, 5L));
    /** A pod of a node. */
    private static final DataFolder.Access ROOT = new DataFolder.Access(0, Set.of(0L, 5L));

    @ParameterizedTest
    @CsvSource({
        "0, 0, 755", // what Kubernetes creates for a hostPath
        "0, 0, 775",
        "0, 5, 755",
    })
    void rootAcceptsAFolderThatOnlyRootCanWriteTo(long uid, long gid, String permissions) {
        assertThatCode(() -> ROOT.checkFolder(PATH, folder(uid, gid, permissions)))
                .doesNotThrowAnyException();
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0, 757, every user can write to /var/lib/genv-enforcer",
        "0, 0, 1777, every user can write to /var/lib/genv-enforcer",
        "0, 5, 775, gid 5 can write to /var/lib/genv-enforcer",
        "0, 100, 2770, gid 100 can write to /var/lib/genv-enforcer",
        "1000, 0, 700, /var/lib/genv-enforcer belongs to uid 1000",
    })
    void rootRefusesAFolderThatOthersCanWriteTo(long uid, long gid, String permissions, String message) {
        assertThatThrownBy(() -> ROOT.checkFolder(PATH, folder(uid, gid, permissions)))
                .hasMessage(message);
    }

    @ParameterizedTest
    @CsvSource({"0, 65532, 2775", "65532, 65532, 2770", "0, 5, 2775", "65532, 0, 775"})
    void aPodAcceptsAVolumeOfItsGroup(long uid, long gid, String permissions) {
        assertThatCode(() -> POD.checkFolder(PATH, folder(uid, gid, permissions)))
                .doesNotThrowAnyException();
        assertThatCode(() -> POD.checkFile(PATH, file(65_532, gid, "660"))).doesNotThrowAnyException();
    }

    @ParameterizedTest
    @CsvSource({"0, 100, 2775", "0, 65532, 2777", "1000, 65532, 2770"})
    void aPodRefusesAVolumeOfOthers(long uid, long gid, String permissions) {
        assertThatThrownBy(() -> POD.checkFolder(PATH, folder(uid, gid, permissions)))
                .isInstanceOf(StoreException.class);
    }

    @ParameterizedTest
    @CsvSource({"65532, 100, 660", "65532, 65532, 664", "0, 65532, 660"})
    void aFileOfOthersIsRefused(long uid, long gid, String permissions) {
        assertThatThrownBy(() -> POD.checkFile(PATH, file(uid, gid, permissions)))
                .isInstanceOf(StoreException.class);
    }

    @Test
    void aFolderThatAGroupCanWriteToIsRefused(@TempDir Path directory) throws IOException {
        Requirements.root();
        Files.setAttribute(directory, "unix:gid", 4711);
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxrwx---"));
        assertThatThrownBy(() -> DataFolder.open(directory)).hasMessageContaining("gid 4711 can write");
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-x---"));
        DataFolder.open(directory).close();
    }

    @Test
    void theGroupsOfTheServiceAreKnown() throws IOException {
        var expected = Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("Groups:"))
                .flatMap(line -> Arrays.stream(line.substring(7).strip().split(" +")))
                .filter(group -> !group.isEmpty())
                .map(Long::valueOf)
                .toList();
        assertThat(FileCalls.groups()).containsAll(expected);
    }

    private static FileStatus folder(long uid, long gid, String permissions) {
        return status(0040000, uid, gid, permissions);
    }

    private static FileStatus file(long uid, long gid, String permissions) {
        return status(0100000, uid, gid, permissions);
    }

    private static FileStatus status(int type, long uid, long gid, String permissions) {
        return new FileStatus(type | Integer.parseInt(permissions, 8), uid, gid, 1, 0, 1, 0, 1, 0, 0, 0);
    }
}

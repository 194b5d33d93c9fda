package dev.genv.enforcer.node.state;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.enforcement.host.Machine.SwapResult;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.Sha256;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.state.StateDirectory.Condition;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What others change directly before the replacement, and the temporary files of a killed run. */
@Timeout(600)
class SwapperTest {
    private static final Attachment MINE = new Attachment("mine", "4g", "20/11/2026 10:00:00");
    private final Path path;
    private final NodeState swapper;

    SwapperTest(@TempDir Path folder) throws IOException {
        path = Files.createDirectory(folder.resolve("genv"));
        swapper = new NodeState(path, Duration.ofSeconds(1), new ProcFs(Path.of("/proc")));
    }

    @Test
    void removesOnlyTempFilesUnderTheLock() throws Exception {
        var others = List.of(
                ".devices.json.genv-enforcer-0123456789ABCDEF",
                ".devices.json.genv-enforcer-0123456789abcde",
                ".devices.json.genv-enforcer-0123456789abcdef0",
                ".envs.json.genv-enforcer-0123456789abcdef",
                "x.devices.json.genv-enforcer-0123456789abcdef",
                ".devices.json.swp");
        for (var name : others) {
            Files.createFile(path.resolve(name));
        }
        assertThat(swapper.removeLeftovers()).isEmpty();
        assertThat(path.resolve("genv.lock")).doesNotExist();
        var precious = Files.writeString(path.resolveSibling("precious"), "precious");
        Files.createSymbolicLink(path.resolve(".devices.json.genv-enforcer-0000000000000000"), precious);
        var directory = Files.createDirectory(path.resolve(".devices.json.genv-enforcer-1111111111111111"));
        try (var held = requireNonNull(StateDirectory.open(path));
                var lock = new GenvLock(held, Duration.ofSeconds(1), true)) {
            assertThat(lock.take()).isTrue();
            assertThatThrownBy(swapper::removeLeftovers)
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("genv.lock is held");
        }
        assertThat(swapper.removeLeftovers()).containsExactly(".devices.json.genv-enforcer-0000000000000000");
        assertThat(precious).hasContent("precious");
        assertThat(directory).isDirectory();
        assertThat(others).allSatisfy(name -> assertThat(path.resolve(name)).exists());
    }

    /** What others write without the lock must not be lost. */
    @Test
    void changeDirectlyBeforeTheReplacementPreventsIt() throws Exception {
        files().device(0, MINE).write();
        var file = path.resolve("devices.json");
        for (var other : List.<Change>of(
                () -> Files.setLastModifiedTime(file, FileTime.fromMillis(0)),
                () -> files().device(0, MINE).write(),
                () -> Files.delete(path.resolve("genv.lock")),
                () -> Thread.currentThread().interrupt())) {
            assertThat(swap(() -> {
                        other.happens();
                        return true;
                    }))
                    .isEqualTo(new SwapResult.Disturbed());
            Thread.interrupted();
            assertThat(file).hasContent(files().device(0, MINE).devicesJson());
        }
        assertThat(path.toFile().list()).containsExactlyInAnyOrder("envs.json", "devices.json", "genv.lock");
    }

    private interface Change {
        void happens() throws IOException;
    }

    private SwapResult swap(Condition condition) throws Exception {
        var digest = Sha256.hex(Files.readAllBytes(path.resolve("devices.json")));
        return swapper.swap(digest, "{}".getBytes(StandardCharsets.US_ASCII), condition);
    }

    private StateFiles files() {
        return new StateFiles(path);
    }
}

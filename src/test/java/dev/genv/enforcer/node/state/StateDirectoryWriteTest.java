package dev.genv.enforcer.node.state;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Replacing a file in the state directory. */
@Timeout(600)
class StateDirectoryWriteTest {
    private static final StateDirectory.Condition ALWAYS = () -> true;
    private final Path path;
    private final Path file;
    private final StateDirectory directory;

    StateDirectoryWriteTest(@TempDir Path folder) throws IOException {
        path = Files.createDirectory(folder.resolve("genv"));
        file = path.resolve("envs.json");
        directory = requireNonNull(StateDirectory.open(path));
    }

    @AfterEach
    void close() throws IOException {
        directory.close();
    }

    @Test
    void replacesAFileAtomicallyAndLeavesNoTempFile() throws IOException {
        Files.writeString(file, "old and long");
        try (var old = Files.newInputStream(file)) {
            directory.replace("envs.json", "new".getBytes(UTF_8), ALWAYS);
            assertThat(old.readAllBytes()).asString(UTF_8).isEqualTo("old and long"); // never written in place
        }
        assertThat(file).hasContent("new");
        assertThat(path).isDirectoryNotContaining("glob:**genv-enforcer*");
        assertThat(path.toFile().list()).containsExactly("envs.json");
    }

    @Test
    void replacesNothingUnlessTheConditionHolds() throws IOException {
        Files.writeString(file, "old");
        assertThat(directory.replace("envs.json", new byte[5], () -> false)).isFalse();
        assertThatThrownBy(() -> directory.replace("envs.json", new byte[5], () -> {
                    throw new IOException("cannot be told");
                }))
                .hasMessage("cannot be told");
        assertThat(file).hasContent("old");
        assertThat(path.toFile().list()).containsExactly("envs.json");
    }

    @Test
    void writtenFileIsWorldWritableRegardlessOfUmask() throws IOException {
        directory.replace("envs.json", new byte[0], ALWAYS);
        assertThat(mode(file)).isEqualTo(0666);
    }

    @Test
    void replacesALinkAndNotItsTarget() throws IOException {
        var elsewhere = Files.writeString(path.resolveSibling("elsewhere"), "precious");
        Files.createSymbolicLink(file, elsewhere);
        directory.replace("envs.json", "new".getBytes(UTF_8), ALWAYS);
        assertThat(elsewhere).hasContent("precious");
        assertThat(Files.isSymbolicLink(file)).isFalse();
    }

    @Test
    void failedReplaceKeepsTheOldContent() throws IOException {
        Files.writeString(Files.createDirectory(file).resolve("inside"), "x");
        assertThatThrownBy(() -> directory.replace("envs.json", new byte[5], ALWAYS))
                .isInstanceOf(IOException.class);
        assertThat(path.toFile().list()).containsExactly("envs.json");
        assertThat(file.resolve("inside")).hasContent("x");
    }

    @Test
    void readOnlyDirectoryKeepsItsFile() throws IOException {
        Requirements.ordinaryUser();
        Files.writeString(file, "old");
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("r-x------"));
        assertThatThrownBy(() -> directory.replace("envs.json", new byte[5], ALWAYS))
                .hasMessageContaining("Permission denied");
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwx------"));
        assertThat(path.toFile().list()).containsExactly("envs.json");
        assertThat(file).hasContent("old");
    }

    @Test
    void fullDiskKeepsTheOldFile() throws Exception {
        Requirements.root();
        Requirements.mounts(exitCode("mount", "-t", "tmpfs", "-o", "size=64k,mode=777", "tmpfs", path.toString()) == 0);
        try (var small = requireNonNull(StateDirectory.open(path))) {
            small.replace("envs.json", "old".getBytes(UTF_8), ALWAYS);
            assertThatThrownBy(() -> small.replace("envs.json", new byte[1 << 20], ALWAYS))
                    .hasMessageContaining("No space left on device");
            assertThat(path.toFile().list()).containsExactly("envs.json");
            assertThat(file).hasContent("old");
            small.replace("envs.json", "new".getBytes(UTF_8), ALWAYS);
            assertThat(file).hasContent("new");
        } finally {
            assertThat(exitCode("umount", path.toString())).isZero();
        }
    }

    private static int exitCode(String... command) throws IOException, InterruptedException {
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start()
                .waitFor();
    }

    private static int mode(Path file) throws IOException {
        return (int) Files.getAttribute(file, "unix:mode") & 07777;
    }
}

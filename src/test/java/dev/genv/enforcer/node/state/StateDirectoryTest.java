package dev.genv.enforcer.node.state;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.observation.StateParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(600)
class StateDirectoryTest {
    private final Path path;
    private final Path file;
    private final StateDirectory directory;

    StateDirectoryTest(@TempDir Path folder) throws IOException {
        path = Files.createDirectory(folder.resolve("genv"));
        file = path.resolve("envs.json");
        directory = requireNonNull(StateDirectory.open(path));
    }

    @AfterEach
    void close() throws IOException {
        directory.close();
    }

    /** Where users may link to files that they cannot read, this is how they would have root read them. */
    @Test
    void refusesHardLinkToAPrivateFile() throws IOException {
        var secret = Files.writeString(path.resolveSibling("secret"), "secret");
        Files.createLink(file, secret);
        assertThat(content("envs.json"))
                .as("what everybody may read is no secret, and a link to it must not blind us")
                .isNotNull();
        Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-rw----"));
        assertThat(clause("envs.json")).contains("has 2 names (hard links)");
        Files.delete(secret);
        assertThat(content("envs.json")).asString(UTF_8).isEqualTo("secret");
    }

    @Test
    void listsABoundedNumberOfNames() throws IOException {
        for (var i = 0; i < 12_000; i++) {
            Files.createFile(path.resolve("f" + i));
        }
        assertThat(directory.names()).hasSize(10_000).doesNotHaveDuplicates();
    }

    /** It stays the directory that was opened, wherever its path leads meanwhile. */
    @Test
    void readsFromTheOpenedDirectoryAfterItWasReplaced() throws IOException {
        Files.writeString(file, "mine");
        Files.move(path, path.resolveSibling("moved"));
        Files.writeString(Files.createDirectory(path).resolve("envs.json"), "a stranger's");
        assertThat(content("envs.json")).asString(UTF_8).isEqualTo("mine");
        assertThat(directory.names()).containsExactly("envs.json");
    }

    private byte @Nullable [] content(String name) {
        return switch (directory.read(name)) {
            case StateFile.Present(var content) -> content.array();
            case StateFile.Absent _ -> null;
            case StateFile.Unreadable unreadable -> throw new AssertionError(StateParser.clause(unreadable));
        };
    }

    private String clause(String name) {
        return StateParser.clause((StateFile.Unreadable) directory.read(name));
    }
}

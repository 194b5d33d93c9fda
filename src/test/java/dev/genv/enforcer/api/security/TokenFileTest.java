package dev.genv.enforcer.api.security;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.Fifo;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TokenFileTest {
    private final Path folder;
    private final Path path;
    private final TokenFile file;

    TokenFileTest(@TempDir Path folder) {
        this.folder = folder;
        path = folder.resolve("token");
        file = new TokenFile(path);
    }

    @Test
    void stripsWhitespaceAroundTheToken() throws IOException {
        Files.writeString(path, " \tS3cret/+=._~-\r\n");
        assertThat(file.read()).isEqualTo("S3cret/+=._~-");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "\n", "  ", "two words", "two\nlines", "w\u00f6rd", "bell\u0007", "nul\u0000"})
    void refusesAnythingButOneWord(String content) throws IOException {
        Files.writeString(path, content, StandardCharsets.ISO_8859_1);
        assertThatThrownBy(file::read)
                .isInstanceOf(IOException.class)
                .hasMessage("expected a file with one token of at most 4096 ASCII characters without blanks");
    }

    @Test
    void refusesATokenAboveTheMaximumLength() throws IOException {
        Files.writeString(path, "x".repeat(4096));
        assertThat(file.read()).hasSize(4096);
        Files.writeString(path, "x".repeat(4097));
        assertThatThrownBy(file::read).hasMessageContaining("at most 4096");
    }

    @Test
    void refusesMissingOrNonRegularFile() throws Exception {
        assertThatThrownBy(file::read).hasMessageContaining("cannot be read (NoSuchFileException)");
        Files.createDirectory(path);
        assertThatThrownBy(file::read).hasMessageContaining("not a regular file");
        Files.delete(path);
        Fifo.at(path);
        assertThatThrownBy(file::read).hasMessageContaining("not a regular file");
    }

    /** The modification time can be set back, the change time cannot. */
    @Test
    void detectsAChangeWhoseModificationTimeIsSetBack() throws IOException {
        Files.writeString(path, "one");
        assertThat(file.read()).isEqualTo("one");
        var modified = Files.getLastModifiedTime(path);
        var changed = Files.getAttribute(path, "unix:ctime");
        await().until(() -> {
            Files.writeString(path, "two");
            Files.setLastModifiedTime(path, modified);
            return !Files.getAttribute(path, "unix:ctime").equals(changed);
        });
        assertThat(file.read()).isEqualTo("two");
    }

    @Test
    void reportsWhetherOtherUsersCanChangeTheFile() throws IOException {
        Files.writeString(path, "one");
        Files.setAttribute(folder, "unix:mode", 0755);
        Files.setAttribute(path, "unix:mode", 0644);
        assertThat(file.weakness()).isEmpty();
        Files.setAttribute(path, "unix:mode", 0664);
        assertThat(file.weakness().orElseThrow()).contains("can write to it");
        Files.setAttribute(path, "unix:mode", 0600);
        Files.setAttribute(folder, "unix:mode", 0777);
        assertThat(file.weakness().orElseThrow()).contains("in its directory");
        Files.setAttribute(folder, "unix:mode", 01777);
        assertThat(file.weakness()).isEmpty();
    }

    @Test
    void rereadsTheFileAfterEveryChange() throws IOException {
        Files.writeString(path, "one");
        assertThat(file.read()).isEqualTo("one");

        Files.writeString(path, "three");
        assertThat(file.read()).isEqualTo("three");

        var modified = Files.getLastModifiedTime(path);
        var other = Files.writeString(path.resolveSibling("other"), "seven");
        Files.setLastModifiedTime(other, modified);
        Files.move(other, path, StandardCopyOption.ATOMIC_MOVE);
        assertThat(file.read()).as("of the same size and time").isEqualTo("seven");

        Files.writeString(path, "no token");
        assertThatThrownBy(file::read).isInstanceOf(IOException.class);
        assertThatThrownBy(file::read).as("also the second time").isInstanceOf(IOException.class);
        Files.delete(path);
        assertThatThrownBy(file::read).isInstanceOf(IOException.class);
        Files.writeString(path, "again");
        assertThat(file.read()).isEqualTo("again");
    }

    /** Kubernetes puts a new folder beside the old one and turns a link round. */
    @Test
    void rereadsARenewedKubernetesSecret() throws IOException {
        for (var version : new String[] {"old", "new"}) {
            Files.writeString(Files.createDirectory(folder.resolve(version)).resolve("token"), "the-" + version);
        }
        Files.setLastModifiedTime(folder.resolve("new/token"), Files.getLastModifiedTime(folder.resolve("old/token")));
        Files.createSymbolicLink(folder.resolve("..data"), Path.of("old"));
        Files.createSymbolicLink(path, Path.of("..data/token"));
        assertThat(file.read()).isEqualTo("the-old");

        Files.createSymbolicLink(folder.resolve("..tmp"), Path.of("new"));
        Files.move(folder.resolve("..tmp"), folder.resolve("..data"), StandardCopyOption.ATOMIC_MOVE);
        assertThat(file.read()).isEqualTo("the-new");
    }
}

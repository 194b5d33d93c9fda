package dev.genv.enforcer.api.security;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.api.security.ApiToken.TokenFile;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
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
                .hasMessage("it is not one word of ASCII characters");
    }

    @Test
    void refusesATokenAboveTheMaximumLength() throws IOException {
        Files.writeString(path, "x".repeat(4096));
        assertThat(file.read()).hasSize(4096);
        Files.writeString(path, "x".repeat(4097));
        var token = new ApiToken(Optional.of(file));
        token.refresh(file);
        assertThat(token.problem())
                .contains("expected a file with one token of at most 4096 ASCII characters without blanks:"
                        + " it is longer than 4096 bytes");
    }

    @Test
    void refusesMissingOrNonRegularFile() throws Exception {
        assertThatThrownBy(file::read).hasMessageContaining("there is no such file");
        Files.createDirectory(path);
        assertThatThrownBy(file::read).hasMessageContaining("not a regular file");
        Files.delete(path);
        Programs.fifo(path);
        assertThatThrownBy(file::read).hasMessageContaining("not a regular file");
    }

    @Test
    void reportsWhetherOtherUsersCanChangeTheFile() throws IOException {
        Files.writeString(path, "one");
        Files.setAttribute(folder, "unix:mode", 0755);
        assertWeakness(path, 0644, "");
        assertWeakness(path, 0664, "others can write " + path);
        assertWeakness(path, 0600, "");
        assertWeakness(folder, 0777, "others can write " + folder);
        assertWeakness(folder, 01777, "");
    }

    @Test
    void reportsWhetherOtherUsersCanReplaceAFolderOnThePath() throws IOException {
        var above = Files.createDirectory(folder.resolve("above"));
        var links = Files.createDirectory(folder.resolve("links"));
        var link = links.resolve("token");
        var target = Files.createDirectory(above.resolve("folder")).resolve("token");
        Files.writeString(target, "one");
        Files.createSymbolicLink(link, target);
        Files.createSymbolicLink(path, link);
        for (var each : List.of(above, links)) {
            assertWeakness(each, 0777, "others can write " + each);
            assertWeakness(each, 01777, "");
        }
    }

    private void assertWeakness(Path changed, int mode, String weakness) throws IOException {
        Files.setAttribute(changed, "unix:mode", mode);
        assertThat(file.weakness().orElse("")).isEqualTo(weakness);
    }
}

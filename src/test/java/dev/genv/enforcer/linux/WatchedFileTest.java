package dev.genv.enforcer.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class WatchedFileTest {
    private static final String INVALID = "invalid";

    private final Path folder;
    private final Path path;
    private final WatchedFile<String> file;

    WatchedFileTest(@TempDir Path folder) {
        this.folder = folder;
        path = folder.resolve("token");
        file = new WatchedFile<>(path, 10, WatchedFileTest::parse);
    }

    private static String parse(byte[] bytes) throws IOException {
        var text = new String(bytes, StandardCharsets.UTF_8);
        if (text.equals(INVALID)) {
            throw new IOException("it is invalid");
        }
        return text;
    }

    @Test
    void refusesAFileAboveTheMaximumSize() throws IOException {
        Files.writeString(path, "x".repeat(10));
        assertThat(file.current()).hasSize(10);
        Files.writeString(path, "x".repeat(11));
        assertThatThrownBy(file::current).hasMessage("%s: it is longer than 10 bytes", path);
    }

    /** Users can set the modification time, and not the change time. */
    @Test
    void detectsAChangeWhoseModificationTimeIsSetBack() throws IOException {
        Files.writeString(path, "one");
        assertThat(file.current()).isEqualTo("one");
        var modified = Files.getLastModifiedTime(path);
        var changed = Files.getAttribute(path, "unix:ctime");
        await().until(() -> {
            Files.writeString(path, "two");
            Files.setLastModifiedTime(path, modified);
            return !Files.getAttribute(path, "unix:ctime").equals(changed);
        });
        assertThat(file.current()).isEqualTo("two");
    }

    @Test
    void rereadsTheFileAfterEveryChange() throws IOException {
        Files.writeString(path, "one");
        assertThat(file.current()).isEqualTo("one");

        Files.writeString(path, "three");
        assertThat(file.current()).isEqualTo("three");

        var modified = Files.getLastModifiedTime(path);
        var other = Files.writeString(path.resolveSibling("other"), "seven");
        Files.setLastModifiedTime(other, modified);
        Files.move(other, path, StandardCopyOption.ATOMIC_MOVE);
        assertThat(file.current()).as("of the same size and time").isEqualTo("seven");

        Files.writeString(path, INVALID);
        assertThatThrownBy(file::current).isInstanceOf(IOException.class);
        assertThatThrownBy(file::current).as("also the second time").isInstanceOf(IOException.class);
        Files.delete(path);
        assertThatThrownBy(file::current).isInstanceOf(IOException.class);
        Files.writeString(path, "again");
        assertThat(file.current()).isEqualTo("again");
    }

    /** Kubernetes puts a new folder beside the old one and replaces a link to it. */
    @Test
    void rereadsARenewedKubernetesSecret() throws IOException {
        for (var version : new String[] {"old", "new"}) {
            Files.writeString(Files.createDirectory(folder.resolve(version)).resolve("token"), "the-" + version);
        }
        Files.setLastModifiedTime(folder.resolve("new/token"), Files.getLastModifiedTime(folder.resolve("old/token")));
        Files.createSymbolicLink(folder.resolve("..data"), Path.of("old"));
        Files.createSymbolicLink(path, Path.of("..data/token"));
        assertThat(file.current()).isEqualTo("the-old");

        Files.createSymbolicLink(folder.resolve("..tmp"), Path.of("new"));
        Files.move(folder.resolve("..tmp"), folder.resolve("..data"), StandardCopyOption.ATOMIC_MOVE);
        assertThat(file.current()).isEqualTo("the-new");
    }
}

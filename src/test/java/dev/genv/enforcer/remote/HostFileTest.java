package dev.genv.enforcer.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.testsupport.LogRecords;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostFileTest {
    @TempDir
    Path directory;

    private final LogRecords log = LogRecords.of(HostFile.class.getName());
    private Path path;
    private Instant now;

    @AfterEach
    void releaseLog() {
        log.close();
    }

    @BeforeEach
    void writeHostFile() throws IOException {
        path = Files.writeString(directory.resolve("hosts"), "gpu-1\n");
        now = Instant.now().plus(Duration.ofHours(1));
    }

    @Test
    void fileThatBecomesUnusableIsReportedAndKeepsTheHosts() throws Exception {
        var file = file(path);
        Files.writeString(path, "# none\n");
        assertUnusable(file, "it names no host");
        Files.writeString(path, "gpu-2\n-x\n");
        assertUnusable(file, "line 2: \"-x\" is ");
        Files.delete(path);
        assertUnusable(file, path + ": there is no such file");
        Programs.fifo(path);
        assertUnusable(file, path + " is not a regular file");
        Files.delete(path);
        Files.writeString(path, "gpu-2\n");
        assertThat(file.current()).hasToString("[gpu-2]");
        assertThat(log.lines()).hasSize(5).last().isEqualTo("The host file can be used again");
    }

    private void assertUnusable(HostFile file, String why) {
        for (var i = 0; i < 2; i++) {
            assertThat(file.current()).hasToString("[gpu-1]");
            assertThat(log.lines())
                    .last()
                    .asString()
                    .startsWith(path + " cannot be used, and the list of machines stays as it was: " + why);
        }
    }

    @Test
    void ignoresFileModifiedLessThanTwoSecondsAgo() throws Exception {
        var file = file(path);
        write("gpu-1\ngpu-2", Duration.ofMillis(1_999));
        assertThat(file.current()).hasToString("[gpu-1]");
        write("-", Duration.ZERO);
        assertThat(file.current()).hasToString("[gpu-1]");

        write("gpu-1\ngpu-23\n", Duration.ofSeconds(2));
        assertThat(file.current()).hasToString("[gpu-1, gpu-23]");
        assertThat(log.lines()).isEmpty();
    }

    @Test
    void invalidFileStaysReportedWhileItIsRewritten() throws Exception {
        var file = file(path);
        write("-", Duration.ofSeconds(2));
        assertThat(file.current()).hasToString("[gpu-1]");
        write("gpu-", Duration.ZERO);
        assertThat(file.current()).hasToString("[gpu-1]");
        assertThat(log.lines()).as("of what was read last").hasSize(1);
    }

    @Test
    void readsFileWithModificationTimeInTheFuture() throws Exception {
        var file = file(path);
        write("gpu-2\n", Duration.ofHours(-1));

        assertThat(file.current()).hasToString("[gpu-2]");
    }

    @Test
    void acceptsFileWithoutHostsAtTheStart() throws Exception {
        Files.writeString(path, "");
        var file = file(path);
        assertThat(file.current()).isEmpty();
        assertThat(log.lines()).isEmpty();

        Files.writeString(path, "gpu-2\n");
        assertThat(file.current()).hasToString("[gpu-2]");
    }

    @Test
    void startFailsWhenTheFileIsMissingOrInvalid() throws Exception {
        assertThatThrownBy(() -> new HostFile(directory.resolve("nowhere")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(directory + "/nowhere: there is no such file");
        Files.write(path, new byte[] {'g', (byte) 0xFF, '\n'});
        assertThatThrownBy(() -> new HostFile(path))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("line 1: ");
    }

    private HostFile file(Path place) {
        return new HostFile(place, () -> now);
    }

    private void write(String text, Duration ago) throws IOException {
        Files.writeString(path, text);
        Files.setLastModifiedTime(path, FileTime.from(now.minus(ago)));
    }
}

package dev.genv.enforcer.files;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.testsupport.linux.Fifo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class RegularFileTest {
    @TempDir
    Path directory;

    @Test
    void readsTheOpenFileAfterItsPathWasReplaced() throws IOException {
        var path = Files.writeString(directory.resolve("file"), "one");
        try (var file = RegularFile.open(path)) {
            Files.delete(path);
            Files.createDirectory(path);
            assertThat(file.read(3)).asString().isEqualTo("one");
            assertThat(file.status().size()).isEqualTo(3);
        }
    }

    @Test
    void refusesAFileAboveTheLimit() throws IOException {
        var path = Files.writeString(directory.resolve("file"), "12345");
        try (var file = RegularFile.open(path)) {
            assertThatThrownBy(() -> file.read(4)).hasMessage(path + " is longer than 4 bytes");
        }
    }

    @Test
    void refusesADirectoryAndAPipe() throws Exception {
        assertThatThrownBy(() -> RegularFile.open(directory)).hasMessageEndingWith("is not a regular file");
        var fifo = Fifo.at(directory.resolve("fifo"));
        assertThatThrownBy(() -> RegularFile.open(fifo)).hasMessageEndingWith("is not a regular file");
        assertThatThrownBy(() -> RegularFile.open(directory.resolve("none"))).isInstanceOf(NoSuchFileException.class);
    }

    @Test
    void readsAFileOfSeveralBuffers() throws Exception {
        for (var length : new int[] {0, FileCalls.BUFFER, 3 * FileCalls.BUFFER + 1}) {
            var content = new byte[length];
            new Random(7).nextBytes(content);
            try (var file = RegularFile.open(Files.write(directory.resolve("large"), content))) {
                assertThat(file.read(length)).isEqualTo(content);
            }
        }
        try (var file = RegularFile.open(directory.resolve("large"))) {
            assertThatThrownBy(() -> file.read(3 * FileCalls.BUFFER)).hasMessageContaining("is longer than");
        }
    }

    /** Such a file can replace a regular file after its type was checked. */
    @Test
    @Timeout(value = 60, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void openingAPipeDoesNotWaitForAWriter() throws Exception {
        var fifo = Fifo.at(directory.resolve("fifo"));
        FileCalls.close(FileCalls.open(fifo));
        assertThatThrownBy(() -> FileCalls.open(directory.resolve("none"))).isInstanceOf(Errno.class);
    }
}

package dev.genv.enforcer.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.linux.FileCalls.Descriptor;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DescriptorTest {
    @TempDir
    Path directory;

    @Test
    void readsTheOpenFileUpToTheLimitAfterItsPathWasReplaced() throws IOException {
        var path = Files.writeString(directory.resolve("file"), "one");
        try (var file = Descriptor.openRegular(path)) {
            Files.delete(path);
            Files.createDirectory(path);
            assertThat(file.read(2)).asString().isEqualTo("on");
            assertThat(file.status().size()).isEqualTo(3);
        }
    }

    @Test
    void refusesADirectoryAndAPipe() throws Exception {
        assertThatThrownBy(() -> Descriptor.openRegular(directory)).hasMessageEndingWith("is not a regular file");
        var fifo = Programs.fifo(directory.resolve("fifo"));
        assertThatThrownBy(() -> Descriptor.openRegular(fifo)).hasMessageEndingWith("is not a regular file");
        assertThatThrownBy(() -> Descriptor.openRegular(directory.resolve("none")))
                .isInstanceOf(NoSuchFileException.class);
    }

    /** Such a file can replace a regular file after its type was checked. */
    @Test
    @Timeout(value = 60, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void openingAPipeDoesNotWaitForAWriter() throws Exception {
        var fifo = Programs.fifo(directory.resolve("fifo"));
        FileCalls.close(FileCalls.open(fifo));
        assertThatThrownBy(() -> FileCalls.open(directory.resolve("none"))).isInstanceOf(Errno.class);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 8192, 8193, 100_000})
    void readsAKernelFileOfEverySizeUpToTheLimit(int size) throws IOException {
        var content = new byte[size];
        new Random(size).nextBytes(content);
        Files.write(directory.resolve("ü file"), content);
        assertThat(Descriptor.readKernelFile(directory.resolve("ü file").toString(), 2_000_000))
                .isEqualTo(content);
        assertThat(Descriptor.readKernelFile(directory.resolve("ü file").toString(), size))
                .isEqualTo(content);
        assertThat(Descriptor.readKernelFile(directory.resolve("ü file").toString(), size / 2))
                .isEqualTo(Arrays.copyOf(content, size / 2));
    }
}

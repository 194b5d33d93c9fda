package dev.genv.enforcer.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.linux.FileCalls.Descriptor;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KernelFileReadTest {
    private final Path file;

    KernelFileReadTest(@TempDir Path folder) {
        file = folder.resolve("ü file");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 8191, 8192, 8193, 16384, 100_000, 1_000_000})
    void readsEverySize(int size) throws IOException {
        var content = new byte[size];
        new Random(size).nextBytes(content);
        Files.write(file, content);
        assertThat(Descriptor.readKernelFile(file.toString(), 2_000_000)).isEqualTo(content);
        assertThat(Descriptor.readKernelFile(file.toString(), size)).isEqualTo(content);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 8192, 10_000, 99_999})
    void readsNoMoreThanTheLimit(int limit) throws IOException {
        var content = new byte[100_000];
        new Random(limit).nextBytes(content);
        Files.write(file, content);
        assertThat(Descriptor.readKernelFile(file.toString(), limit)).isEqualTo(Arrays.copyOf(content, limit));
    }

    /** The kernel says that these have no bytes. */
    @Test
    void readsAFileWithoutASize() throws IOException {
        assertThat(Descriptor.readKernelFile("/proc/self/stat", 10_000))
                .startsWith(("" + ProcessHandle.current().pid()).getBytes(StandardCharsets.US_ASCII));
        assertThat(Descriptor.readKernelFile("/proc/self/maps", 10_000_000)).hasSizeGreaterThan(8192);
    }

    @Test
    void namesTheFileThatIsMissing() {
        assertThatThrownBy(() -> Descriptor.readKernelFile(file.toString(), 10))
                .isInstanceOf(NoSuchFileException.class)
                .hasMessage(file.toString());
    }

    @Test
    void failsForADirectoryAndForALongPath() {
        assertThatThrownBy(() -> Descriptor.readKernelFile("/proc", 10))
                .isInstanceOf(IOException.class)
                .hasMessageContainingAll("/proc", "Is a directory");
        assertThatThrownBy(() -> Descriptor.readKernelFile("/" + "x".repeat(5000), 10))
                .isInstanceOf(IOException.class);
    }
}

package dev.genv.enforcer.node.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.enforcement.host.Machine.DeviceUse;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The memory devices (major number 1) stand for those of the driver. */
@Timeout(600)
class NvidiaDevicesTest {
    private static final int PID = 812;

    @TempDir
    Path proc;

    private NvidiaDevices devices;

    @BeforeEach
    void writeDevices() throws IOException {
        devices = new NvidiaDevices(proc);
        register("  1 nvidia");
        Files.createDirectories(proc.resolve("812/fd"));
        Files.createDirectories(proc.resolve("812/task/812/fd"));
    }

    private void register(String lines) throws IOException {
        Files.writeString(
                proc.resolve("devices"),
                "Character devices:\n  5 /dev/tty\n%s\n\nBlock devices:\n  1 nvidia\n259 blkext\n".formatted(lines));
    }

    private void open(String folder, String name, Path file) throws IOException {
        Files.createSymbolicLink(proc.resolve("812").resolve(folder).resolve(name), file);
    }

    @Test
    void nothingIsRequiredWithoutTheDriver() throws IOException {
        assertThat(devices.use(PID)).isEqualTo(new DeviceUse(false, ""));
        register("  1 mem");
        assertThat(devices.use(PID)).isEqualTo(DeviceUse.PROVEN);
        Files.delete(proc.resolve("devices"));
        assertThatThrownBy(() -> devices.use(PID)).isInstanceOf(IOException.class);
    }

    @ParameterizedTest
    @ValueSource(strings = {"nvidia", "nvidia-frontend", "nvidiactl", "nvidia-uvm"})
    void openDeviceIsFoundByItsNumber(String name) throws IOException {
        register("  1 " + name);
        open("fd", "3", Path.of("/dev/null"));
        assertThat(devices.use(PID)).isEqualTo(DeviceUse.PROVEN);
    }

    @ParameterizedTest
    @ValueSource(strings = {"  1 mem", "  1 nvidia-caps", "  5 nvidia", "  1 nvidia0", "  1 my nvidia"})
    void deviceOfAnotherDriverIsNotFound(String line) throws IOException {
        register(line + "\n509 nvidia");
        open("fd", "3", Path.of("/dev/null"));
        assertThat(devices.use(PID)).isEqualTo(new DeviceUse(false, ""));
    }

    @Test
    void filesOfAnotherThreadCount() throws IOException {
        Files.createDirectories(proc.resolve("812/task/813/fd"));
        open("task/813/fd", "3", Path.of("/dev/null"));
        assertThat(devices.use(PID)).isEqualTo(DeviceUse.PROVEN);
    }
}

package dev.genv.enforcer.e2e.unlisted;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.DeviceFileHolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * A terminal in the place of the device file of a GPU, because no other process has it. Terminals cannot be mapped, so files in the place
 * of {@code maps} describe what processes map.
 */
public final class TerminalGpu {
    /** Of the terminals in {@code /dev/pts}. */
    private static final int MAJOR = 136;

    private final Child keeper;
    private final Path driver;
    private final Path file;

    private TerminalGpu(Child keeper, Path driver, Path file) {
        this.keeper = keeper;
        this.driver = driver;
        this.file = file;
    }

    /** Opens a terminal that every user may use, and writes the driver of the GPU: {@code devices} and {@code driver}. */
    public static TerminalGpu create(Path driver, String uuid) throws IOException {
        var name = driver.resolve("terminal");
        var keeper = Child.running(List.of("/usr/bin/python3", "-I", "-S", "-c", """
                import os, time
                master, terminal = os.openpty()
                os.chmod(os.ttyname(terminal), 0o666)
                with open('%1$s.new', 'w') as file: file.write(os.ttyname(terminal))
                os.close(terminal)
                os.rename('%1$s.new', '%1$s')
                while True: time.sleep(1000)
                """.formatted(name)), Map.of());
        await().atMost(HANG).until(() -> Files.exists(name));
        var file = Path.of(Files.readString(name));
        DeviceFileHolder.writeDriver(
                driver, uuid, MAJOR, Integer.parseInt(file.getFileName().toString()));
        return new TerminalGpu(keeper, driver, file);
    }

    public Path file() {
        return file;
    }

    /** Returns a file for the place of the {@code maps} of a process, in which it maps the device file. */
    public Path mapsOf(int pid) throws IOException {
        var device = (long) Files.getAttribute(file, "unix:dev");
        var line = "7f0000000000-7f0000001000 rw-s 00000000 %02x:%02x %d %s\n"
                .formatted(
                        (device >>> 8) & 0xfff,
                        (device & 0xff) | ((device >>> 12) & ~0xff),
                        (long) Files.getAttribute(file, "unix:ino"),
                        file);
        return Files.writeString(
                driver.resolve("maps-" + pid),
                Files.readString(Path.of("/proc", Integer.toString(pid), "maps")) + line);
    }

    /** Returns the process that must run as long as the file is used. */
    public Child keeper() {
        return keeper;
    }
}

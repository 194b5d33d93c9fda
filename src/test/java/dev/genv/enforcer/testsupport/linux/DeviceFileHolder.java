package dev.genv.enforcer.testsupport.linux;

import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.fake.FakeProc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * A real process that maps a device file, and a {@code /proc} whose driver has that file's number. {@code /dev/zero} stands for {@code
 * /dev/nvidia5}, because every process may map it. So the {@code /proc} must have no other process that does.
 */
public final class DeviceFileHolder implements AutoCloseable {
    public static final int MINOR = 5;

    /** The addresses of {@link #writeMapping}. */
    public static final String RANGE = "7f0000000000-7f0000001000";

    public static final Path FILE = Path.of("/dev/zero");
    private static final int MAJOR = 1;
    /** The working directory of a process that has tried to map its file. */
    private static final Path READY = Path.of("/dev");

    private final Child child;
    private final Path file;

    private DeviceFileHolder(Child child, Path file) {
        this.child = child;
        this.file = file;
    }

    /** Starts a process that maps {@code /dev/zero} with these variables, after this Python statement. */
    public static DeviceFileHolder start(Map<String, String> variables, String before) throws IOException {
        return start(FILE, variables, before);
    }

    /** Starts a process that opens this file, and maps it if its driver permits that. */
    public static DeviceFileHolder start(Path file, Map<String, String> variables, String before) throws IOException {
        var child = Child.running(
                List.of("/usr/bin/python3", "-I", "-S", "-c", before + """

                        import mmap, os, time
                        device = os.open('%s', os.O_RDWR | os.O_NOCTTY)
                        try: mapping = mmap.mmap(device, 4096, flags=mmap.MAP_PRIVATE)
                        except (OSError, ValueError): pass
                        os.chdir('%s') # it is ready
                        while True: time.sleep(1000)
                        """.formatted(file, READY)), variables);
        var workingDirectory = Path.of("/proc", Integer.toString(child.pid()), "cwd");
        await().until(() -> Files.readSymbolicLink(workingDirectory).equals(READY));
        return new DeviceFileHolder(child, file);
    }

    /** Fills a {@code /proc} with links to these processes of the real one, and with a driver, whose device file is {@code /dev/zero}. */
    public static void write(Path proc, int... pids) throws IOException {
        Files.writeString(proc.resolve("devices"), """
                Character devices:
                %3d nvidia
                240 nvidia-uvm

                Block devices:
                  5 nvidia
                """.formatted(MAJOR));
        for (var pid : pids) {
            var link = proc.resolve(Integer.toString(pid));
            if (!Files.exists(link)) {
                Files.createSymbolicLink(link, Path.of("/proc", Integer.toString(pid)));
            }
        }
    }

    /** Writes one mapping of a file, and returns the place of its link. */
    public static Path writeMapping(FakeProc.FakeProcess process, Path file) throws IOException {
        var device = (long) Files.getAttribute(file, "unix:dev");
        Files.writeString(
                process.file("maps"),
                "%s rw-s 00000000 %02x:%02x %d  /any name\n"
                        .formatted(RANGE, device >>> 8, device & 0xff, (long) Files.getAttribute(file, "unix:ino")));
        return Files.createDirectories(process.file("map_files")).resolve(RANGE);
    }

    public int pid() {
        return child.pid();
    }

    public Child child() {
        return child;
    }

    /** Has a process close the file that does so at SIGUSR1. */
    public void release() throws IOException, InterruptedException {
        new ProcessBuilder("kill", "-USR1", Integer.toString(child.pid()))
                .start()
                .waitFor();
        await().until(() -> !holds());
    }

    private boolean holds() throws IOException {
        try (var links = Files.newDirectoryStream(Path.of("/proc", Integer.toString(child.pid()), "fd"))) {
            for (var link : links) {
                if (Files.exists(link) && Files.isSameFile(link, file)) {
                    return true;
                }
            }
        }
        return false;
    }

    @Override
    public void close() {
        child.close();
    }
}

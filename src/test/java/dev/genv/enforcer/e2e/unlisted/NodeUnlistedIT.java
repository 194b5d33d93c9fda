package dev.genv.enforcer.e2e.unlisted;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.DeviceFileHolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The packaged program on the node itself, and real processes that use GPU 0 without being listed. A terminal is in the place of the
 * device file of the GPU, because no other process has it. Terminals cannot be mapped, so files in the place of {@code maps} describe
 * what processes map.
 */
class NodeUnlistedIT {
    /** Of the terminals in {@code /dev/pts}. */
    private static final int MAJOR = 136;

    @TempDir
    private Path directory;

    private final List<AutoCloseable> processes = new ArrayList<>();
    private Path driver;
    private Path gpu;
    private Path mounts;
    private Node node;

    @BeforeEach
    void startMachine() throws IOException {
        Requirements.rootWithCapabilities();
        Files.setAttribute(directory, "unix:mode", 0755); // the users must be able to enter it
        driver = Files.createDirectory(directory.resolve("driver"));
        gpu = openTerminal();
        DeviceFileHolder.writeDriver(
                driver,
                FakeNvidiaSmi.uuid(0),
                MAJOR,
                Integer.parseInt(gpu.getFileName().toString()));
        mounts = Files.createFile(driver.resolve("mounts"));
        mount(driver.resolve("devices"), Path.of("/proc/devices"));
        mount(driver.resolve("driver"), Path.of("/proc/driver"));
        node = new Node(Files.createDirectory(directory.resolve("machine")))
                .launchWith("unshare", "--mount", "sh", "-c", ". %s && exec \"$@\"".formatted(mounts), "sh");
        Files.setAttribute(node.stateDirectory, "unix:mode", 0777);
        node.gpus.gpuLines("0, %s, 4096\n1, %s, 0\n".formatted(FakeNvidiaSmi.uuid(0), FakeNvidiaSmi.uuid(1)));
    }

    @AfterEach
    void stopMachine() throws Exception {
        for (var process : processes) {
            process.close();
        }
        if (node != null) {
            node.close();
        }
    }

    @Test
    void reportsProcessesThatAreInNoEnvironmentWithTheDeviceAndTerminatesNone() throws IOException {
        node.state
                .ownEnv("a", null, add(Child.withEnvironment(Map.of())).pid())
                .ownEnv("b", null, add(Child.withEnvironment(Map.of())).pid())
                .device(0, "a")
                .device(1, "b")
                .write();
        var outside = use(Map.of());
        var stranger = use(Map.of("GENV_ENVIRONMENT_ID", "b"));
        var member = use(Map.of("GENV_ENVIRONMENT_ID", "a"));
        var bystander = open(Map.of());

        var service = node.set("UNLISTED_PROCESSES", "audit").set("GRACE", "0s").startService();

        var client = new ServiceClient(service);
        await().until(() -> client.observe().problems().contains("gpu_unlisted"));
        await().untilAsserted(() -> assertThat(client.json("/violations?rule=unlisted-processes"))
                .extracting(violation -> violation.at("/processes/0/pid").asInt())
                .containsExactlyInAnyOrder(outside.pid(), stranger.pid()));
        await().untilAsserted(() -> {
            var unlisted = client.json("/snapshot").findValue("gpu_unlisted");
            assertThat(unlisted).isNotNull();
            assertThat(unlisted.findValuesAsText("gpu_memory")).containsExactly("4096mi");
        });
        client.awaitNext(client.awaitNext(client.observe()));
        assertThat(List.of(outside, stranger, member, bystander)).allMatch(Child::isAlive);
    }

    /** Puts a file in the place of another one, as the service sees them, before it is started. */
    private void mount(Path source, Path target) throws IOException {
        Files.writeString(
                mounts, "mount --bind %s %s || exit 1\n".formatted(source, target), StandardOpenOption.APPEND);
    }

    private <P extends AutoCloseable> P add(P process) {
        processes.add(process);
        return process;
    }

    /** Opens a terminal that every user may use. */
    private Path openTerminal() throws IOException {
        var name = driver.resolve("terminal");
        add(Child.running(List.of("/usr/bin/python3", "-I", "-S", "-c", """
                import os, time
                master, terminal = os.openpty()
                os.chmod(os.ttyname(terminal), 0o666)
                with open('%1$s.new', 'w') as file: file.write(os.ttyname(terminal))
                os.close(terminal)
                os.rename('%1$s.new', '%1$s')
                while True: time.sleep(1000)
                """.formatted(name)), Map.of()));
        await().until(() -> Files.exists(name));
        return Path.of(Files.readString(name));
    }

    /** Starts a process that has the file open. */
    private Child open(Map<String, String> variables) throws IOException {
        return add(DeviceFileHolder.start(gpu, variables, "")).child();
    }

    /** Starts a process that maps the file too. */
    private Child use(Map<String, String> variables) throws IOException {
        var process = open(variables);
        var device = (long) Files.getAttribute(gpu, "unix:dev");
        var line = "7f0000000000-7f0000001000 rw-s 00000000 %02x:%02x %d %s\n"
                .formatted(
                        (device >>> 8) & 0xfff,
                        (device & 0xff) | ((device >>> 12) & ~0xff),
                        (long) Files.getAttribute(gpu, "unix:ino"),
                        gpu);
        var maps = Path.of("/proc", Integer.toString(process.pid()), "maps");
        mount(Files.writeString(driver.resolve("maps-" + process.pid()), Files.readString(maps) + line), maps);
        return process;
    }
}

package dev.genv.enforcer.e2e.unlisted;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.DeviceFileHolder;
import dev.genv.enforcer.testsupport.linux.SteppedProcess;
import dev.genv.enforcer.testsupport.linux.TestProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The packaged program on the node itself, and real processes that use GPU 0 without being listed. */
class NodeUnlistedIT {
    private static final int USER = TestUsers.HONEST_UID;
    private static final int OTHER_USER = TestUsers.ATTACKER_UID;
    private static final Map<String, String> OUTSIDE = Map.of("HOME", "/");

    @TempDir
    private Path directory;

    private final List<AutoCloseable> processes = new ArrayList<>();
    private TerminalGpu gpu;
    private Node node;
    private Path mounts;
    private ServiceClient client;

    @BeforeEach
    void startMachine() throws IOException {
        Requirements.rootWithCapabilities();
        Files.setAttribute(directory, "unix:mode", 0755); // the users must be able to enter it
        var driver = Files.createDirectory(directory.resolve("driver"));
        gpu = TerminalGpu.create(driver, FakeNvidiaSmi.uuid(0));
        add(gpu.keeper());
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

    /** Puts a file in the place of another one, as the service sees them, before it is started. */
    private void mount(Path source, Path target) throws IOException {
        Files.writeString(
                mounts, "mount --bind %s %s || exit 1\n".formatted(source, target), StandardOpenOption.APPEND);
    }

    private <P extends AutoCloseable> P add(P process) {
        processes.add(process);
        return process;
    }

    /** Starts a process that has the file open. */
    private Child open(Map<String, String> variables) throws IOException {
        return add(DeviceFileHolder.start(gpu.file(), variables, "")).child();
    }

    /** Starts a process that maps the file too. */
    private Child use(Map<String, String> variables) throws IOException {
        var process = open(variables);
        map(process.pid());
        return process;
    }

    /** Starts a process that maps the file, and has overwritten its environ, and whose parent has not. */
    private SteppedProcess useOverwritten(int uid, Map<String, String> variables) throws IOException {
        var process = add(SteppedProcess.ofUser(
                uid, node.stateDirectory, variables, "setsid", "fork", "hold:" + gpu.file(), "clear"));
        map(process.pid());
        return process;
    }

    private void map(int pid) throws IOException {
        mount(gpu.mapsOf(pid), Path.of("/proc", Integer.toString(pid), "maps"));
    }

    private void startService() throws IOException {
        client = new ServiceClient(node.startService());
        client.awaitObservation();
    }

    private void audit() throws IOException {
        node.set("UNLISTED_PROCESSES", "audit").set("GRACE", "0s");
        startService();
    }

    private void assertUnharmed(TestProcess... holders) throws IOException {
        client.awaitNext(client.awaitNext(client.observe()));
        assertThat(holders).allMatch(TestProcess::isAlive);
    }

    /** Waits until the unlisted use in the snapshot is as expected: on a slow machine the service may lack time to find a holder. */
    private void awaitUnlisted(Consumer<JsonNode> expected) {
        await().untilAsserted(() -> {
            var unlisted = client.json("/snapshot").findValue("gpu_unlisted");
            assertThat(unlisted).isNotNull();
            expected.accept(unlisted);
        });
    }

    @Test
    void reportsHoldersAndTerminatesNone() throws IOException {
        var holder = open(Map.of());
        var shell = add(Child.withEnvironment(Map.of()));
        node.state.ownEnv("a", null, shell.pid()).device(0, "a").device(1).write();
        startService();
        awaitUnlisted(unlisted -> {
            assertThat(unlisted.findValuesAsText("pid")).containsExactly(Integer.toString(holder.pid()));
            assertThat(unlisted.findValuesAsText("gpu_memory")).containsExactly("4096mi");
        });
        await().until(() -> client.observe().problems().contains("gpu_unlisted"));
        assertUnharmed(holder);
    }

    @Test
    void reportsProcessesThatAreInNoEnvironmentWithTheDevice() throws IOException {
        node.state
                .ownEnv("a", null, add(Child.withEnvironment(Map.of())).pid())
                .ownEnv("b", null, add(Child.withEnvironment(Map.of())).pid())
                .device(0, "a")
                .device(1, "b")
                .write();
        var outside = use(Map.of());
        var stranger = use(Map.of("GENV_ENVIRONMENT_ID", "b"));
        var member = use(Map.of("GENV_ENVIRONMENT_ID", "a"));
        var inactive = use(Map.of("GENV_ENVIRONMENT_ID", "gone"));
        var bystander = open(Map.of());
        audit();
        await().untilAsserted(() -> assertThat(client.json("/violations?rule=unlisted-processes"))
                .extracting(violation -> violation.at("/processes/0/pid").asInt())
                .containsExactlyInAnyOrder(outside.pid(), stranger.pid(), inactive.pid()));
        assertUnharmed(outside, stranger, inactive, member, bystander);
    }

    @Test
    void decidesTheMembershipOfHoldersThatHaveOverwrittenTheirEnvirons() throws IOException {
        node.state
                .env("a", USER, null, null, add(Child.ofUser(USER)).pid())
                .device(0, "a")
                .device(1)
                .write();
        var member = useOverwritten(USER, Map.of("GENV_ENVIRONMENT_ID", "a"));
        var outside = useOverwritten(OTHER_USER, OUTSIDE);
        audit();
        awaitUnlisted(unlisted -> assertThat(unlisted.path("processes")).anySatisfy(holder -> {
            assertThat(holder.path("pid").asInt()).isEqualTo(member.pid());
            assertThat(holder.path("eid").asText()).isEqualTo("a");
            assertThat(holder.at("/membership/by").asText()).isEqualTo("ancestor");
        }));
        awaitUnlisted(unlisted -> assertThat(unlisted.path("processes"))
                .anySatisfy(holder -> assertThat(holder.path("pid").asInt()).isEqualTo(outside.pid())));
        // Relatives do not prove that a process which is older than the first observation is in no environment.
        assertUnharmed(member, outside);
    }
}

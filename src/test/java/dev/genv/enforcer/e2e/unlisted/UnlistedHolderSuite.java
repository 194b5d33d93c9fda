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
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The packaged program and real processes that use GPU 0 without being listed. */
abstract class UnlistedHolderSuite {
    private static final int USER = TestUsers.HONEST_UID;
    private static final int OTHER_USER = TestUsers.ATTACKER_UID;
    private static final Map<String, String> OUTSIDE = Map.of("HOME", "/");

    @TempDir
    private Path directory;

    private final List<AutoCloseable> processes = new ArrayList<>();
    private TerminalGpu gpu;
    private Machine machine;
    private ServiceClient client;

    /** The machine with the holders, and the program that enforces on it. */
    record Machine(Node program, FakeNvidiaSmi gpus, StateFiles state, Path stateDirectory) {}

    /**
     * Starts the machine.
     *
     * @param driver contains {@code devices} and {@code driver} of the machine's {@code /proc}
     */
    abstract Machine start(Path folder, Path driver) throws IOException;

    /** Puts a file in the place of another one, as the service sees them, before it is started. */
    abstract void mount(Path source, Path target) throws IOException;

    abstract void stop() throws IOException;

    @BeforeEach
    void startMachine() throws IOException {
        Requirements.rootWithCapabilities();
        Files.setAttribute(directory, "unix:mode", 0755); // the users must be able to enter it
        var driver = Files.createDirectory(directory.resolve("driver"));
        gpu = TerminalGpu.create(driver, FakeNvidiaSmi.uuid(0));
        add(gpu.keeper());
        machine = start(Files.createDirectory(directory.resolve("machine")), driver);
        Files.setAttribute(machine.stateDirectory, "unix:mode", 0777);
        machine.gpus.gpuLines("0, %s, 4096\n1, %s, 0\n".formatted(FakeNvidiaSmi.uuid(0), FakeNvidiaSmi.uuid(1)));
    }

    @AfterEach
    void stopMachine() throws Exception {
        for (var process : processes) {
            process.close();
        }
        stop();
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
                uid, machine.stateDirectory, variables, "setsid", "fork", "hold:" + gpu.file(), "clear"));
        map(process.pid());
        return process;
    }

    private void map(int pid) throws IOException {
        mount(gpu.mapsOf(pid), Path.of("/proc", Integer.toString(pid), "maps"));
    }

    private void startService() throws IOException {
        client = new ServiceClient(machine.program.startService());
        client.awaitObservation();
    }

    private void enforce() throws IOException {
        machine.program.set("UNLISTED_PROCESSES", "enforce").set("GRACE", "0s");
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
        machine.state.ownEnv("a", null, shell.pid()).device(0, "a").device(1).write();
        startService();
        awaitUnlisted(unlisted -> {
            assertThat(unlisted.findValuesAsText("pid")).containsExactly(Integer.toString(holder.pid()));
            assertThat(unlisted.findValuesAsText("gpu_memory")).containsExactly("4096mi");
        });
        await().until(() -> client.observe().problems().contains("gpu_unlisted"));
        assertUnharmed(holder);
    }

    @Test
    void terminatesProcessesThatAreInNoEnvironmentWithTheDevice() throws IOException {
        machine.state
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
        enforce();
        outside.awaitExit();
        stranger.awaitExit();
        inactive.awaitExit();
        assertUnharmed(member, bystander);
    }

    @Test
    void decidesTheMembershipOfHoldersThatHaveOverwrittenTheirEnvirons() throws IOException {
        machine.state
                .env("a", USER, null, null, add(Child.ofUser(USER)).pid())
                .device(0, "a")
                .device(1)
                .write();
        var member = useOverwritten(USER, Map.of("GENV_ENVIRONMENT_ID", "a"));
        var outside = useOverwritten(OTHER_USER, OUTSIDE);
        enforce();
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

package dev.genv.enforcer.container;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A machine with three GPUs and a container engine. */
abstract class EngineTest {
    static final long OWNER_UID = 2001;
    static final long OTHER_UID = 2002;

    @TempDir
    Path directory;

    Path stateDirectory;
    StateFiles state;
    FakeNvidiaSmi gpus;

    @BeforeEach
    void prepareMachine() throws IOException {
        assertThat(CurrentProcess.isRoot()).as("an engine's state is root's").isTrue();
        stateDirectory = Files.createDirectory(directory.resolve("genv"));
        Files.setPosixFilePermissions(stateDirectory, PosixFilePermissions.fromString("rwxrwxrwx"));
        state = new StateFiles(stateDirectory);
        gpus = new FakeNvidiaSmi(Docker.DRIVER).gpus(3).noFault().noProcesses();
    }

    /**
     * Shows that a container with these flags, under which a user may have one device, ends a process of another user on
     * the machine outside, detaches under the lock that others hold there, answers, and stops in time.
     *
     * @param name what it is told to be called; null where it finds that out by itself
     */
    final void assertEnforces(Flags flags, @Nullable String name) throws IOException {
        var lock = stateDirectory.resolve("genv.lock");
        try (var shell = Child.ofUser(OWNER_UID);
                var member = Child.ofUser(OWNER_UID, Map.of("GENV_ENVIRONMENT_ID", "a"));
                var stray = Child.ofUser(OTHER_UID)) {
            state.env("a", OWNER_UID, null, null, shell.pid())
                    .device(0, "a")
                    .device(1, "a")
                    .device(2)
                    .write();
            gpus.process(0, member.pid(), "10").process(2, stray.pid(), "10");
            var before = devicesJson();
            var held = RealFlock.take(lock);
            try (var service = ServiceContainer.start(flags.set("LOCK_TIMEOUT", "3m"))) {
                try (held) {
                    await().until(() -> hasOpen(service.pid(), lock));
                    // The service waits for the lock, and does nothing meanwhile.
                    await().during(Duration.ofSeconds(1))
                            .until(() ->
                                    hasOpen(service.pid(), lock) && before.equals(devicesJson()) && stray.isAlive());
                }
                assertThat(stray.awaitExit()).isEqualTo(143);
                await().until(() -> detachments() == 1);
                service.awaitReady(true);
                assertThat(member.isAlive()).isTrue();
                assertThat(shell.isAlive()).isTrue();

                var violations = service.json("/violations");
                assertThat(violations.getList("rule"))
                        .containsExactlyInAnyOrder("non-env-processes", "max-devices-per-user");
                assertThat(service.json("/hosts").getString("[0].host"))
                        .isEqualTo(name == null ? nodeName(service) : name);
                assertThat(service.status("/q/health/live")).isEqualTo(200);
                assertThat(service.log()).contains("outcome=signalled", "outcome=detached");

                service.stop();
                assertThat(service.inspect("{{.State.ExitCode}}")).isEqualTo("143");
            }
        }
    }

    /** Shows that with these flags it does nothing that the missing right would be needed for, and says what must be added. */
    final void assertCapabilityMissing(Flags flags, String capability) throws IOException {
        try (var stray = Child.ofUser(OTHER_UID);
                var member = Child.ofUser(OWNER_UID, Map.of("GENV_ENVIRONMENT_ID", "a"))) {
            state.env("a", OWNER_UID, null, null, member.pid())
                    .device(0, "a")
                    .device(1)
                    .device(2)
                    .write();
            gpus.process(0, member.pid(), "10").process(2, stray.pid(), "10");
            try (var service = ServiceContainer.start(flags)) {
                service.awaitReady(false);
                service.awaitCycles(2);
                assertThat(service.json("/hosts").getList("[0].missing_privileges"))
                        .containsExactly(capability);
                assertThat(service.log()).contains("run as root with --cap-add " + capability);
                assertThat(stray.isAlive()).isTrue();
                assertThat(member.isAlive()).isTrue();
                // Its information about the stray process depends on its privileges.
                assertThat(service.json("/violations").getList("rule")).hasSize(capability.equals("KILL") ? 1 : 0);
            }
        }
    }

    /** Shows that one without the host's pids ends nobody by the pids that the driver tells, which are those of others there. */
    final void assertReadOnly(Flags flags) throws IOException {
        state.device(0).device(1).device(2).write();
        try (var service = ServiceContainer.start(flags)) {
            service.awaitReady(false);
            gpus.process(FakeNvidiaSmi.uuid(2), service.startProcessInside(OTHER_UID), "10");
            service.awaitCycles(2);
            assertThat(service.json("/hosts").getList("[0].missing_privileges")).containsExactly("HOST_PID");
            assertThat(service.json("/q/health/ready").getString("checks[0].data.reason"))
                    .isNotEmpty();
            assertThat(service.log()).contains("run with --pid=host");
            assertThat(service.json("/violations").getList("$")).isEmpty();
            assertThat(service.status("/q/health/live")).isEqualTo(200);
            assertThat(service.processesInside()).isNotEmpty();
        }
    }

    private long detachments() throws IOException {
        return 2
                - devicesJson()
                        .lines()
                        .filter(line -> line.contains("\"eid\": \"a\""))
                        .count();
    }

    private String devicesJson() throws IOException {
        return Files.readString(stateDirectory.resolve("devices.json"));
    }

    /** The machine's; the container's where even root may not look at the machine's first process, as in some sandboxes. */
    private static String nodeName(ServiceContainer service) throws IOException {
        var machines = Path.of("/proc/1/root/etc/hostname");
        return Files.isReadable(machines)
                ? Files.readString(machines).strip()
                : service.inspect("{{.Config.Hostname}}");
    }

    private static boolean hasOpen(long pid, Path file) throws IOException {
        if (!Files.exists(file)) {
            return false;
        }
        try (var descriptors = Files.list(Path.of("/proc", Long.toString(pid), "fd"))) {
            return descriptors.anyMatch(descriptor -> isSame(descriptor, file));
        }
    }

    private static boolean isSame(Path descriptor, Path file) {
        try {
            return Files.isSameFile(descriptor, file);
        } catch (IOException e) {
            return false; // it was closed meanwhile, or is not a file
        }
    }
}

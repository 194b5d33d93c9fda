package dev.genv.enforcer.container;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The image with all flags of the README, and once without each. */
@Tag("container")
@Timeout(600)
class ContainerIT extends EngineTest {
    private Flags flags() throws IOException {
        return Flags.ofReadme(stateDirectory)
                .set("INTERVAL", "1s")
                .set("NON_ENV_PROCESSES", "enforce")
                .set("GRACE", "0s");
    }

    @Test
    void terminatesAndDetachesOnTheNode() throws IOException {
        assertEnforces(flags().set("MAX_DEVICES_PER_USER", 1), null);
    }

    @ParameterizedTest
    @ValueSource(strings = {"KILL", "SYS_PTRACE", "DAC_READ_SEARCH"})
    void reportsMissingCapabilityAndTerminatesNothing(String capability) throws IOException {
        assertCapabilityMissing(flags().without("--cap-add", capability), capability);
    }

    /** Docker gives added capabilities only to root. */
    @Test
    void reportsAllMissingPrivilegesAsAnotherUser() throws IOException {
        try (var stray = Child.ofUser(OTHER_UID)) {
            state.device(0).device(1).device(2).write();
            gpus.process(2, stray.pid(), "10");
            try (var service = ServiceContainer.start(flags().add("--user", "65532"))) {
                service.awaitReady(false);
                service.awaitCycles(2);
                assertThat(service.json("/hosts").getList("[0].missing_privileges"))
                        .containsExactly("SYS_PTRACE", "DAC_READ_SEARCH", "KILL");
                assertThat(stray.isAlive()).isTrue();
            }
        }
    }

    @Test
    void isReadOnlyWithoutHostPid() throws IOException {
        assertReadOnly(flags().without("--pid=host"));
    }

    /** Docker's AppArmor profile exists on Ubuntu and not on Debian. */
    @Test
    void namesTheMissingFlagUnderDockersAppArmorProfile() throws IOException {
        var enabled = Path.of("/sys/module/apparmor/parameters/enabled");
        Requirements.require(
                Files.exists(enabled) && Files.readString(enabled).startsWith("Y"),
                "AppArmor",
                "run on a machine that has it");
        try (var service = ServiceContainer.start(flags().without("--security-opt", "apparmor=unconfined"))) {
            service.awaitReady(false);
            assertThat(service.json("/hosts").getList("[0].missing_privileges")).containsExactly("APPARMOR");
            assertThat(service.log()).contains("--security-opt apparmor=unconfined");
        }
    }

    @Test
    void isNotReadyAndTerminatesNothingWithoutGpus() throws IOException {
        try (var stray = Child.ofUser(OTHER_UID)) {
            gpus.process(2, stray.pid(), "10");
            try (var service = ServiceContainer.start(flags().without("--gpus", "all"))) {
                service.awaitReady(false);
                service.awaitCycles(2);
                assertThat(service.json("/hosts").getList("[0].problems.code")).contains("gpu_tool_failed");
                assertThat(stray.isAlive()).isTrue();
            }
        }
    }

    /** The engine creates a missing folder for root only; then genv would fail for every user. */
    @Test
    void makesStateDirectoryOfTheEngineWorldWritable() throws IOException {
        Files.delete(stateDirectory);
        var atItsOwnPath = flags().without("--mount", Flags.mount(stateDirectory))
                .add("-v", stateDirectory + ":" + stateDirectory)
                .set("STATE_DIR", stateDirectory);
        try (var service = ServiceContainer.start(atItsOwnPath)) {
            service.awaitReady(true);
            assertThat(permissions(stateDirectory)).isEqualTo("rwxrwxrwx");
        }
    }

    /** Every user can create a link at the path of the state directory, and the engine follows it. */
    @Test
    void doesNotChangePermissionsBehindALink() throws IOException {
        var roots = Files.createDirectory(directory.resolve("precious"));
        Files.setPosixFilePermissions(roots, PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.delete(stateDirectory);
        Files.createSymbolicLink(stateDirectory, roots);
        try (var service = ServiceContainer.start(flags())) {
            service.awaitReady(true);
            assertThat(permissions(roots)).isEqualTo("rwxr-xr-x");
            assertThat(service.log()).contains("which may not be genv's");
        }
    }

    /** A service in audit mode must not create a folder in which genv fails for every user. */
    @Test
    void flagsOfTheReadmeCreateNoStateDirectory() throws IOException {
        Files.delete(stateDirectory);
        assertThat(ServiceContainer.runOnce(flags().set("INTERVAL", 0)).text()).contains("does not exist");
        assertThat(stateDirectory).doesNotExist();
    }

    private static String permissions(Path folder) throws IOException {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(folder));
    }

    @Test
    void keepsTheDatabaseInItsVolumeAndUnpacksNoLibrary() throws IOException {
        try (var service = ServiceContainer.start(flags())) {
            service.awaitReady(true);
            assertThat(service.execute("stat", "-c", "%a %u", "/var/lib/genv-enforcer/enforcer.db")
                            .output())
                    .isEqualTo("600 0");
            assertThat(Files.readString(Path.of("/proc", Long.toString(service.pid()), "maps")))
                    .contains("/opt/genv-enforcer/native/libsqlitejdbc.so");
            assertThat(service.execute("ls", "/dev/shm").output()).doesNotContain("sqlite");
            assertThat(service.json("/hosts").getList("[0].problems.code")).isEmpty();
        }
    }

    @Test
    void secondContainerIsReadOnly() throws IOException {
        try (var first = ServiceContainer.start(flags())) {
            first.awaitReady(true);
            try (var second = ServiceContainer.start(flags())) {
                second.awaitReady(true);
                assertThat(second.json("/hosts").getList("[0].problems.code")).contains("second_enforcer");
                first.stop();
                second.awaitCycles(2);
                assertThat(second.json("/hosts").getList("[0].problems.code")).isEmpty();
            }
        }
    }

    @Test
    void healthCheckNeedsNoOtherProgram() throws IOException {
        try (var service = ServiceContainer.start(flags())) {
            service.awaitReady(true);
            assertThat(service.inspect("{{json .Config.Healthcheck.Test}}"))
                    .isEqualTo("[\"CMD\",\"genv-enforcer-health\"]");
            assertThat(service.execute("genv-enforcer-health").exitCode()).isZero();
            assertThat(service.execute("genv-enforcer-health", "127.0.0.1", "9000", "/q/health/ready")
                            .exitCode())
                    .isZero();
            assertThat(service.execute("genv-enforcer-health", "127.0.0.1", "9000", "/nowhere"))
                    .satisfies(answer -> assertThat(answer.exitCode()).isEqualTo(1))
                    .satisfies(answer -> assertThat(answer.text().lines()).contains("HTTP/1.0 404 Not Found"));
            assertThat(service.execute("genv-enforcer-health", "127.0.0.1", "9001")
                            .exitCode())
                    .isEqualTo(1);
        }
    }

    /** With AOTMode=on, a cache that does not match aborts the start. */
    @Test
    void usesTheAotCacheOfTheImage() throws IOException {
        var cycle = ServiceContainer.runOnce(
                flags().set("INTERVAL", 0).set("MODE", "audit").add("-e", "JAVA_TOOL_OPTIONS=-XX:AOTMode=on"));
        assertThat(cycle.exitCode()).as(cycle.text()).isZero();
    }

    @Test
    void jvmOptionsOverrideTheDefaults() throws IOException {
        var cycle = ServiceContainer.runOnce(flags().set("INTERVAL", 0)
                .set("MODE", "audit")
                .add("-e", "JAVA_OPTS=-Xmx300m -XX:+PrintCommandLineFlags"));
        assertThat(cycle.exitCode()).as(cycle.text()).isZero();
        assertThat(cycle.text()).contains("-XX:MaxHeapSize=%d".formatted(300 << 20));
    }
}

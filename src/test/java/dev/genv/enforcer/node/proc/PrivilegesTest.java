package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.observation.MissingPrivilege;
import dev.genv.enforcer.testsupport.FakeProc;
import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The capabilities are what {@code CapEff} says in this or that container. */
class PrivilegesTest {
    private static final String ALL_CAPABILITIES = "000001ffffffffff";
    private static final String NO_CAPABILITIES = "0000000000000000";
    private static final String REQUIRED_CAPABILITIES = "0000000000080024";
    private static final String DOCKERS_DEFAULT = "00000000a80425fb";
    private final FakeProc proc;
    private final Path state;

    PrivilegesTest(@TempDir Path folder) throws IOException {
        proc = new FakeProc(folder.resolve("proc"));
        state = Files.createDirectory(folder.resolve("genv"));
    }

    @ParameterizedTest
    @ValueSource(strings = {ALL_CAPABILITIES, REQUIRED_CAPABILITIES})
    void nothingIsMissingWithTheRequiredCapabilities(String capabilities) throws IOException {
        proc.writeSelf(capabilities, "unconfined");
        assertThat(missing(true, true)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        NO_CAPABILITIES + ",SYS_PTRACE DAC_READ_SEARCH KILL",
        "0000000000080020,DAC_READ_SEARCH",
        "0000000000080004,KILL",
        "0000000000000024,SYS_PTRACE",
        // Who may write everybody's files may read them too.
        DOCKERS_DEFAULT + ",SYS_PTRACE"
    })
    void namesEachMissingCapabilityWithTheFlagThatGrantsIt(String capabilities, String names) throws IOException {
        proc.writeSelf(capabilities, "");
        var missing = missing(true, true);
        assertThat(missing).extracting(MissingPrivilege::name).containsExactly(names.split(" ", -1));
        assertThat(missing).allSatisfy(right -> {
            assertThat(right.problem().code()).isEqualTo(ProblemCode.MISSING_PRIVILEGE);
            assertThat(right.problem().detail()).startsWith(right.name() + ": ").contains("--cap-add " + right.name());
        });
    }

    @Test
    void unreadableCapabilitiesCountAsMissing() {
        assertThat(missing(false, false))
                .extracting(MissingPrivilege::name)
                .containsExactly("SYS_PTRACE", "DAC_READ_SEARCH");
    }

    @Test
    void readOnlyModeNeedsNoPrivilegesForActions() throws IOException {
        proc.writeSelf("0000000000080004", "");
        makeReadOnly(state);
        assertThat(missing(false, false)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "docker-default (enforce)",
                "cri-containerd.apparmor.d (enforce)",
                "crio-default (enforce)",
                "containers-default-0.57.4 (enforce)"
            })
    void appArmorProfileOfAContainerEngineIsReported(String label) throws IOException {
        proc.writeSelf(ALL_CAPABILITIES, label);
        assertThat(missing(true, true)).singleElement().satisfies(right -> {
            assertThat(right.name()).isEqualTo("APPARMOR");
            assertThat(right.advice()).contains("--security-opt apparmor=unconfined");
        });
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "docker-default (complain)",
                "unconfined",
                "my-docker-default (enforce)",
                "system_u:system_r:container_t:s0",
                ""
            })
    void otherSecurityLabelsAreNotReported(String label) throws IOException {
        proc.writeSelf(ALL_CAPABILITIES, label);
        assertThat(missing(true, true)).isEmpty();
    }

    @Test
    void readsTheAppArmorLabelOfNewerKernels() throws IOException {
        proc.writeSelf(ALL_CAPABILITIES, "system_u:system_r:container_t:s0");
        var folder = Files.createDirectories(proc.root().resolve("self/attr/apparmor"));
        Files.writeString(folder.resolve("current"), "docker-default (enforce)\n");
        assertThat(missing(true, true)).extracting(MissingPrivilege::name).containsExactly("APPARMOR");
    }

    @Test
    void checksTheDirectoryEachTime() throws IOException {
        Requirements.ordinaryUser();
        proc.writeSelf(ALL_CAPABILITIES, "");
        var privileges = privileges(false, true, true);
        assertThat(privileges.missing()).isEmpty();
        makeReadOnly(state);
        assertThat(privileges.missing()).extracting(MissingPrivilege::name).containsExactly("STATE_WRITE");
        Files.setAttribute(state, "unix:mode", 0777);
        assertThat(privileges.missing()).isEmpty();
        makeReadOnly(state);
        Files.delete(state);
        assertThat(privileges.missing()).as("a fresh machine").isEmpty();
    }

    /** Not even root can write what the kernel itself keeps. */
    @Test
    void readOnlyDirectoryIsReported() throws IOException {
        proc.writeSelf(ALL_CAPABILITIES, "");
        var needs = new Privileges.Needs(false, true, true, Path.of("/proc/self/task"));
        var privileges = new Privileges(new ProcFs(proc.root()), needs);
        Requirements.require(
                !Files.isWritable(Path.of("/proc/self/task")), "a /proc that refuses root", "run outside of a sandbox");
        assertThat(privileges.missing()).singleElement().satisfies(right -> {
            assertThat(right.name()).isEqualTo("STATE_WRITE");
            assertThat(right.advice()).contains("/proc/self/task").contains("mount it writable");
        });
    }

    @Test
    void hostPidNamespaceIsMissingOnlyWhenRequired() throws IOException {
        proc.writeSelf(ALL_CAPABILITIES, "");
        proc.pidNamespace(4026532281L);
        assertThat(privileges(false, true, true).missing()).isEmpty();
        assertThat(privileges(true, true, true).missing()).singleElement().satisfies(right -> {
            assertThat(right.name()).isEqualTo("HOST_PID");
            assertThat(right.advice()).contains("--pid=host");
        });
        proc.pidNamespace(4026531836L);
        assertThat(privileges(true, true, true).missing()).isEmpty();
    }

    private static void makeReadOnly(Path directory) throws IOException {
        Files.setAttribute(directory, "unix:mode", 0555);
    }

    private List<MissingPrivilege> missing(boolean signals, boolean detaches) {
        return privileges(false, signals, detaches).missing();
    }

    private Privileges privileges(boolean hostPid, boolean signals, boolean detaches) {
        return new Privileges(new ProcFs(proc.root()), new Privileges.Needs(hostPid, signals, detaches, state));
    }
}

package dev.genv.enforcer.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.observation.MissingRight;
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
class RightsTest {
    private static final String EVERYTHING = "000001ffffffffff";
    private static final String NOTHING = "0000000000000000";
    private static final String THE_THREE = "0000000000080024";
    private static final String DOCKERS_DEFAULT = "00000000a80425fb";
    private final FakeProc proc;
    private final Path state;

    RightsTest(@TempDir Path folder) throws IOException {
        proc = new FakeProc(folder.resolve("proc"));
        state = Files.createDirectory(folder.resolve("genv"));
    }

    @ParameterizedTest
    @ValueSource(strings = {EVERYTHING, THE_THREE})
    void lacksNothing(String capabilities) throws IOException {
        proc.self(capabilities, "unconfined");
        assertThat(missing(true, true)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        NOTHING + ",SYS_PTRACE DAC_READ_SEARCH KILL",
        "0000000000080020,DAC_READ_SEARCH",
        "0000000000080004,KILL",
        "0000000000000024,SYS_PTRACE",
        // Who may write everybody's files may read them too.
        DOCKERS_DEFAULT + ",SYS_PTRACE"
    })
    void namesEachMissingCapabilityWithTheFlagThatGrantsIt(String capabilities, String names) throws IOException {
        proc.self(capabilities, "");
        var missing = missing(true, true);
        assertThat(missing).extracting(MissingRight::name).containsExactly(names.split(" ", -1));
        assertThat(missing).allSatisfy(right -> {
            assertThat(right.problem().code()).isEqualTo(ProblemCode.MISSING_PRIVILEGE);
            assertThat(right.problem().detail()).startsWith(right.name() + ": ").contains("--cap-add " + right.name());
        });
    }

    @Test
    void whatCannotBeToldIsTakenForMissing() {
        assertThat(missing(false, false))
                .extracting(MissingRight::name)
                .containsExactly("SYS_PTRACE", "DAC_READ_SEARCH");
    }

    @Test
    void whoOnlyWatchesNeedsNothingThatChangesAnything() throws IOException {
        proc.self("0000000000080004", "");
        close(state);
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
    void aProfileOfAContainerEngineIsInTheWay(String label) throws IOException {
        proc.self(EVERYTHING, label);
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
    void noOtherLabelIs(String label) throws IOException {
        proc.self(EVERYTHING, label);
        assertThat(missing(true, true)).isEmpty();
    }

    @Test
    void aNewerKernelTellsAppArmorsLabelElsewhere() throws IOException {
        proc.self(EVERYTHING, "system_u:system_r:container_t:s0");
        var folder = Files.createDirectories(proc.root().resolve("self/attr/apparmor"));
        Files.writeString(folder.resolve("current"), "docker-default (enforce)\n");
        assertThat(missing(true, true)).extracting(MissingRight::name).containsExactly("APPARMOR");
    }

    @Test
    void theDirectoryIsLookedAtEachTime() throws IOException {
        Requirements.ordinaryUser();
        proc.self(EVERYTHING, "");
        var rights = rights(false, true, true);
        assertThat(rights.missing()).isEmpty();
        close(state);
        assertThat(rights.missing()).extracting(MissingRight::name).containsExactly("STATE_WRITE");
        Files.setAttribute(state, "unix:mode", 0777);
        assertThat(rights.missing()).isEmpty();
        close(state);
        Files.delete(state);
        assertThat(rights.missing()).as("a fresh machine").isEmpty();
    }

    /** Not even root can write what the kernel itself keeps. */
    @Test
    void aDirectoryThatNobodyCanWriteIsTold() throws IOException {
        proc.self(EVERYTHING, "");
        var needs = new Rights.Needs(false, true, true, Path.of("/proc/self/task"));
        var rights = new Rights(new ProcFs(proc.root()), needs);
        Requirements.require(
                !Files.isWritable(Path.of("/proc/self/task")), "a /proc that refuses root", "run outside of a sandbox");
        assertThat(rights.missing()).singleElement().satisfies(right -> {
            assertThat(right.name()).isEqualTo("STATE_WRITE");
            assertThat(right.advice()).contains("/proc/self/task").contains("mount it writable");
        });
    }

    @Test
    void theHostsPidNamespaceIsMissingOnlyWhereItIsAskedFor() throws IOException {
        proc.self(EVERYTHING, "");
        proc.pidNamespace(4026532281L);
        assertThat(rights(false, true, true).missing()).isEmpty();
        assertThat(rights(true, true, true).missing()).singleElement().satisfies(right -> {
            assertThat(right.name()).isEqualTo("HOST_PID");
            assertThat(right.advice()).contains("--pid=host");
        });
        proc.pidNamespace(4026531836L);
        assertThat(rights(true, true, true).missing()).isEmpty();
    }

    private static void close(Path directory) throws IOException {
        Files.setAttribute(directory, "unix:mode", 0555);
    }

    private List<MissingRight> missing(boolean signals, boolean detaches) {
        return rights(false, signals, detaches).missing();
    }

    private Rights rights(boolean hostPid, boolean signals, boolean detaches) {
        return new Rights(new ProcFs(proc.root()), new Rights.Needs(hostPid, signals, detaches, state));
    }
}

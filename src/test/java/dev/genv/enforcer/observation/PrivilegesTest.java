package dev.genv.enforcer.observation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.HostFacts.AccessFacts;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.observation.ObserverSettings.Advice;
import dev.genv.enforcer.observation.ObserverSettings.Privileges;
import dev.genv.enforcer.observation.ObserverSettings.Privileges.MissingPrivilege;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The capabilities are those that {@code CapEff} shows in different containers. */
class PrivilegesTest {
    private static final String FIRST_NAMESPACE = "pid:[4026531836]";
    private static final String ALL_CAPABILITIES = "000001ffffffffff";
    private static final String REQUIRED_CAPABILITIES = "0000000000080024";
    private static final String DOCKERS_DEFAULT = "00000000a80425fb";

    @ParameterizedTest
    @ValueSource(strings = {ALL_CAPABILITIES, REQUIRED_CAPABILITIES})
    void nothingIsMissingWithTheRequiredCapabilities(String capabilities) {
        assertThat(missing(access(capabilities, "unconfined"), Advice.CONTAINER))
                .isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "0,SYS_PTRACE DAC_READ_SEARCH KILL",
        "0000000000080020,DAC_READ_SEARCH",
        "0000000000080004,KILL",
        "0000000000000024,SYS_PTRACE",
        // A service that may write the files of all users may read them too.
        DOCKERS_DEFAULT + ",SYS_PTRACE"
    })
    void namesEachMissingCapabilityAndHowToGrantIt(String capabilities, String names) {
        var inContainer = missing(access(capabilities, ""), Advice.CONTAINER);
        assertThat(inContainer).extracting(MissingPrivilege::name).containsExactly(names.split(" ", -1));
        assertThat(inContainer).allSatisfy(privilege -> {
            assertThat(privilege.problem().code()).isEqualTo(ProblemCode.MISSING_PRIVILEGE);
            assertThat(privilege.problem().detail())
                    .startsWith(privilege.name() + ": ")
                    .contains("--cap-add " + privilege.name());
        });
        var overSsh = missing(access(capabilities, ""), Advice.LOGIN);
        assertThat(overSsh).extracting(MissingPrivilege::name).containsExactly(names.split(" ", -1));
        assertThat(overSsh)
                .allSatisfy(
                        privilege -> assertThat(privilege.advice()).endsWith("log in as root, or let sudo give it"));
    }

    @Test
    void readOnlyModeNeedsNoPrivilegesForActions() {
        var access = new AccessFacts(7, 0x80004, FIRST_NAMESPACE, "", false);
        var settings = settings(Advice.CONTAINER, false, false);
        assertThat(new Privileges(settings, access).missing()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "docker-default (enforce)",
                "cri-containerd.apparmor.d (enforce)",
                "crio-default (enforce)",
                "containers-default-0.57.4 (enforce)"
            })
    void appArmorProfileOfAContainerEngineIsReported(String label) {
        assertThat(missing(access(ALL_CAPABILITIES, label), Advice.CONTAINER))
                .singleElement()
                .satisfies(privilege -> {
                    assertThat(privilege.name()).isEqualTo("APPARMOR");
                    assertThat(privilege.advice()).contains("--security-opt apparmor=unconfined");
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
    void otherSecurityLabelsAreNotReported(String label) {
        assertThat(missing(access(ALL_CAPABILITIES, label), Advice.CONTAINER)).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(Advice.class)
    void readOnlyDirectoryIsReported(Advice advice) {
        var access = new AccessFacts(7, -1, FIRST_NAMESPACE, "", false);
        assertThat(missing(access, advice)).singleElement().satisfies(privilege -> {
            assertThat(privilege.name()).isEqualTo("STATE_WRITE");
            assertThat(privilege.advice()).contains("/var/tmp/genv cannot be written", "0777");
        });
    }

    @Test
    void hostPidNamespaceIsMissingOnlyWhenRequired() {
        var access = new AccessFacts(7, -1, "pid:[4026532281]", "", true);
        assertThat(missing(access, Advice.CONTAINER)).isEmpty();
        var required = new Privileges(settings(Advice.CONTAINER, true, true), access);
        assertThat(required.isOutsideHostPid()).isTrue();
        assertThat(required.missing()).singleElement().satisfies(privilege -> {
            assertThat(privilege.name()).isEqualTo("HOST_PID");
            assertThat(privilege.advice()).contains("--pid=host");
        });
        var unknown = new AccessFacts(7, -1, "", "", true);
        assertThat(new Privileges(settings(Advice.LOGIN, true, true), unknown).missing())
                .extracting(MissingPrivilege::advice)
                .singleElement()
                .asString()
                .contains("log in on the host itself");
        assertThat(new Privileges(settings(Advice.LOGIN, true, true), access(ALL_CAPABILITIES, "")).missing())
                .isEmpty();
    }

    private static AccessFacts access(String capabilities, String label) {
        return new AccessFacts(7, Long.parseUnsignedLong(capabilities, 16), FIRST_NAMESPACE, label, true);
    }

    private static List<MissingPrivilege> missing(AccessFacts access, Advice advice) {
        return new Privileges(settings(advice, false, true), access).missing();
    }

    private static ObserverSettings settings(Advice advice, boolean requireHostPid, boolean acts) {
        return new ObserverSettings(
                "gpu-1",
                "/var/tmp/genv",
                List.of(),
                List.of(),
                requireHostPid,
                acts,
                acts,
                false,
                advice,
                Memory.ZERO,
                Duration.ZERO);
    }
}

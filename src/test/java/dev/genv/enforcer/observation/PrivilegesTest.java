package dev.genv.enforcer.observation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.HostFacts.AccessFacts;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.observation.ObserverSettings.Advice;
import dev.genv.enforcer.observation.ObserverSettings.Needs;
import dev.genv.enforcer.observation.ObserverSettings.Privileges;
import dev.genv.enforcer.observation.ObserverSettings.Privileges.MissingPrivilege;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The capabilities are those that {@code CapEff} shows in different containers. */
class PrivilegesTest {
    private static final String FIRST_NAMESPACE = "pid:[4026531836]";
    private static final String ALL = "000001ffffffffff";

    @ParameterizedTest
    @CsvSource({
        ALL + ", unconfined, ''",
        "0000000000080024, unconfined, ''",
        "0, '', SYS_PTRACE DAC_READ_SEARCH KILL",
        "0000000000080020, '', DAC_READ_SEARCH",
        "0000000000080004, '', KILL",
        "0000000000000024, '', SYS_PTRACE",
        // Docker's default: a service that may write the files of all users may read them too.
        "00000000a80425fb, '', SYS_PTRACE",
        ALL + ", docker-default (enforce), APPARMOR",
        ALL + ", cri-containerd.apparmor.d (enforce), APPARMOR",
        ALL + ", crio-default (enforce), APPARMOR",
        ALL + ", containers-default-0.57.4 (enforce), APPARMOR",
        ALL + ", docker-default (complain), ''",
        ALL + ", my-docker-default (enforce), ''",
        ALL + ", system_u:system_r:container_t:s0, ''"
    })
    void namesEachMissingPrivilege(String capabilities, String label, String names) {
        var access = new AccessFacts(7, Long.parseUnsignedLong(capabilities, 16), FIRST_NAMESPACE, label, true);
        assertThat(missing(access, Advice.CONTAINER, false, true))
                .extracting(MissingPrivilege::name)
                .containsExactly(names.isEmpty() ? new String[0] : names.split(" ", -1));
    }

    @ParameterizedTest
    @CsvSource({
        "CONTAINER, APPARMOR, --security-opt apparmor=unconfined",
        "CONTAINER, HOST_PID, 'refer to other processes here: run with --pid=host'",
        "CONTAINER, STATE_WRITE, '/var/tmp/genv cannot be written, so nothing can be detached: mount it writable, with"
                + " mode 0777'",
        "LOGIN, SYS_PTRACE, 'log in as root, or let sudo give it'",
        "LOGIN, HOST_PID, 'refer to other processes there: log in on the host itself, not in a container'",
        "LOGIN, STATE_WRITE, 'set its mode to 0777'"
    })
    void saysHowToGrantIt(Advice advice, String name, String text) {
        var nothing = new AccessFacts(7, 0, "", "docker-default (enforce)", false);
        assertThat(missing(nothing, advice, true, true))
                .filteredOn(privilege -> privilege.name().equals(name))
                .singleElement()
                .satisfies(privilege -> assertThat(privilege.advice()).endsWith(text));
    }

    @Test
    void serviceThatDoesNotActNeedsNoPrivilegesForActions() {
        var access = new AccessFacts(7, 0x80004, FIRST_NAMESPACE, "", false);
        assertThat(missing(access, Advice.CONTAINER, false, false)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({FIRST_NAMESPACE + ", true, false", "pid:[4026532281], true, true", "'', true, true", "'', false, false"
    })
    void hostPidNamespaceIsMissingOnlyWhenRequired(String namespace, boolean isRequired, boolean isMissing) {
        var access = new AccessFacts(7, -1, namespace, "", true);
        assertThat(missing(access, Advice.LOGIN, isRequired, true)).hasSize(isMissing ? 1 : 0);
    }

    private static List<MissingPrivilege> missing(
            AccessFacts access, Advice advice, boolean requireHostPid, boolean acts) {
        var settings = new ObserverSettings(
                "gpu-1",
                "/var/tmp/genv",
                List.of(),
                List.of(),
                List.of(),
                List.of(),
                List.of(),
                List.of(),
                new Needs(requireHostPid, acts, acts, advice),
                false,
                Memory.ZERO,
                Duration.ZERO);
        var privileges = new Privileges(settings, access);
        assertThat(privileges.missing().stream().anyMatch(each -> each.name().equals("HOST_PID")))
                .isEqualTo(privileges.isOutsideHostPid());
        return privileges.missing();
    }
}

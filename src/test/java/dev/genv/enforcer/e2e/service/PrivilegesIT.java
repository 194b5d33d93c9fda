package dev.genv.enforcer.e2e.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A service that lacks a privilege, with every setting that widens what is terminated: it terminates no process that belongs to an active
 * environment and uses the devices of that environment only.
 */
@Tag("long")
class PrivilegesIT extends NodeSuite {
    /** More than the grace period takes. */
    private static final int OBSERVATIONS = 6;

    private static final int EXEMPT_UID = 54_004;

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        # the kernel shows environs for CAP_SYS_ADMIN and CAP_PERFMON too
        SYS_PTRACE      | -sys_ptrace
        SYS_PTRACE      | -sys_ptrace,-sys_admin
        SYS_PTRACE      | -sys_ptrace,-perfmon
        SYS_PTRACE      | -sys_ptrace,-sys_admin,-perfmon
        SYS_PTRACE      | -sys_ptrace,-kill
        DAC_READ_SEARCH | -dac_read_search,-dac_override
        KILL            | -kill
        # what the container has, without each of them
        SYS_PTRACE      | -all,+kill,+dac_read_search
        DAC_READ_SEARCH | -all,+kill,+sys_ptrace
        KILL            | -all,+sys_ptrace,+dac_read_search
        SYS_PTRACE      | -all
        """)
    void terminatesNoHonestProcessWithoutAPrivilege(String missing, String boundingSet) throws IOException {
        node.launchWith("setpriv", "--bounding-set=" + boundingSet);
        try (var jobs = new Jobs()) {
            var client = observe();
            assertThat(client.json("/hosts").findPath("missing_privileges").toString())
                    .contains(missing);
            jobs.assertAlive();
        }
    }

    /** Otherwise the other test could not fail. */
    @ParameterizedTest
    @CsvSource({"-sys_admin", "'-all,+kill,+sys_ptrace,+dac_read_search'"})
    void terminatesOnlyTheStrayProcessWithTheDocumentedPrivileges(String boundingSet) throws IOException {
        node.launchWith("setpriv", "--bounding-set=" + boundingSet);
        try (var jobs = new Jobs();
                var stray = Child.ofUser(TestUsers.ATTACKER_UID)) {
            node.gpus.process(2, stray.pid(), "10");
            observe();
            await().until(() -> !stray.isAlive());
            jobs.assertAlive();
        }
    }

    private ServiceClient observe() throws IOException {
        node.set("NON_ENV_PROCESSES", "enforce")
                .set("INACTIVE_ENV_PROCESSES", "enforce")
                .set("ENV_OWNER", "enforce")
                .set("OVERWRITTEN_ENVIRON", "outside")
                .set("MAX_MEMORY_PER_USER", "1g")
                .set("EXEMPT_USERS", "+" + EXEMPT_UID)
                .set("MAX_DEVICES_PER_USER", 1)
                .set("GRACE", "1s");
        var client = new ServiceClient(node.startService());
        var observation = client.observe();
        for (var i = 0; i < OBSERVATIONS; i++) {
            observation = client.awaitNext(observation);
        }
        return client;
    }

    /** The jobs of two users in their environments, and one of an exempt user outside of all. */
    private final class Jobs implements AutoCloseable {
        private final Child first = Child.ofUser(TestUsers.HONEST_UID, Map.of("GENV_ENVIRONMENT_ID", "a"));
        private final Child second = Child.ofUser(TestUsers.ATTACKER_UID, Map.of("GENV_ENVIRONMENT_ID", "b"));
        private final Child exempt = Child.ofUser(EXEMPT_UID);

        Jobs() throws IOException {
            Requirements.rootWithCapabilities();
            Requirements.program("/usr/bin/setpriv", "util-linux");
            node.state
                    .env("a", TestUsers.HONEST_UID, "a", null, first.pid())
                    .env("b", TestUsers.ATTACKER_UID, "b", null, second.pid())
                    .device(0, "a")
                    .device(1, "b")
                    .device(2)
                    .write();
            node.gpus
                    .process(0, first.pid(), "900")
                    .process(1, second.pid(), "900")
                    .process(2, exempt.pid(), "10");
        }

        void assertAlive() {
            assertThat(first.isAlive()).isTrue();
            assertThat(second.isAlive()).isTrue();
            assertThat(exempt.isAlive()).isTrue();
        }

        @Override
        public void close() {
            first.close();
            second.close();
            exempt.close();
        }
    }
}

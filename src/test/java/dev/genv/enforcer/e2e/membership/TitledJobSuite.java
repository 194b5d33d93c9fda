package dev.genv.enforcer.e2e.membership;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.e2e.TestMachine;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.SteppedProcess;
import dev.genv.enforcer.testsupport.linux.TestProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Jobs that change their titles with Python's setproctitle, which overwrites their environs. A machine has an environment with device 0;
 * devices 1 and 2 are free.
 */
@Tag("long")
abstract class TitledJobSuite {
    private static final String ENVIRONMENT = "a";
    private static final Map<String, String> IN_ENVIRONMENT = Map.of("GENV_ENVIRONMENT_ID", ENVIRONMENT);
    private static final Map<String, String> OUTSIDE = Map.of("HOME", "/");
    private static final int USER = TestUsers.HONEST_UID;
    private static final int OTHER_USER = TestUsers.ATTACKER_UID;
    private static final String TITLE = "title:trainer: epoch 1";

    @TempDir
    private Path directory;

    private final List<TestProcess> processes = new ArrayList<>();
    private TestMachine machine;
    private ServiceClient client;

    abstract TestMachine start(Path folder) throws IOException;

    @BeforeEach
    void startMachine() throws IOException {
        Requirements.rootWithCapabilities();
        SteppedProcess.requireTitles();
        Files.setAttribute(directory, "unix:mode", 0755); // the users must be able to enter it
        machine = start(directory);
        Files.setAttribute(machine.stateDirectory(), "unix:mode", 0777);
        machine.program().set("NON_ENV_PROCESSES", "enforce").set("GRACE", "0s");
    }

    @AfterEach
    void stopMachine() throws IOException {
        processes.forEach(TestProcess::close);
        if (machine != null) { // the requirement may be missing
            machine.close();
        }
    }

    @Test
    void jobWithALauncherInTheEnvironment() throws IOException {
        var job = startJob(IN_ENVIRONMENT, "fork", TITLE);
        writeEnvironment(USER, add(Child.ofUser(USER)).pid());
        use(0, job);
        startService();
        assertUnharmed(job, ENVIRONMENT, "ancestor");
        use(1, job);
        assertTerminated(job, "env-devices", "ancestor");
    }

    @Test
    void laterJobOfAnActivatedShellWithAnEarlierOne() throws IOException {
        var shell = startJob(
                OUTSIDE, "fork-beside:GENV_ENVIRONMENT_ID=a", "pause", "fork", "exec:GENV_ENVIRONMENT_ID=a", TITLE);
        writeEnvironment(USER, shell.pid());
        machine.gpus().process(0, shell.leftBehind(0), "10");
        startService();
        shell.closeLeftBehind(0);
        client.awaitNext(client.awaitNext(client.observe()));
        shell.resume();
        use(0, shell);
        assertUnharmed(shell, ENVIRONMENT, "listed");
        use(1, shell);
        assertTerminated(shell, "env-devices", "listed");
    }

    @Test
    void jobOfAnActivatedShellWithAnotherChild() throws IOException {
        var job = startJob(OUTSIDE, "fork", "exec:GENV_ENVIRONMENT_ID=a", "fork-beside", TITLE);
        writeEnvironment(USER, job.leftBehind(0));
        use(0, job);
        startService();
        assertUnharmed(job, ENVIRONMENT, "listed");
        use(1, job);
        assertTerminated(job, "env-devices", "listed");
    }

    @Test
    void jobOfAnActivatedShellThatNothingProves() throws IOException {
        var job = startJob(OUTSIDE, "fork", "exec:GENV_ENVIRONMENT_ID=a", TITLE);
        writeEnvironment(USER, job.leftBehind(0));
        use(1, job);
        startService();
        assertUnharmed(job, "", "unknown");
        awaitOnlyMembershipUnknown();
    }

    @Test
    void jobThatTheServiceSawBeforeItChangedItsTitle() throws IOException {
        var job = startJob(IN_ENVIRONMENT, "orphan", "setsid", "pause", TITLE);
        writeEnvironment(USER, add(Child.ofUser(USER)).pid());
        use(0, job);
        startService();
        assertUnharmed(job, ENVIRONMENT, "environ");
        job.resume();
        assertUnharmed(job, ENVIRONMENT, "earlier");
        use(1, job);
        assertTerminated(job, "env-devices", "earlier");
    }

    @Test
    void jobOutsideWithItsShell() throws IOException {
        writeEnvironment(OTHER_USER, add(Child.ofUser(OTHER_USER)).pid());
        startService(); // relatives of an older process do not prove that it is outside
        var job = startJob(OUTSIDE, "fork", TITLE);
        use(1, job);
        assertTerminated(job, "non-env-processes", "ancestor");
    }

    @Test
    void orphanOutsideWithItsSession() throws IOException {
        writeEnvironment(OTHER_USER, add(Child.ofUser(OTHER_USER)).pid());
        startService();
        var job = startJob(OUTSIDE, "fork", "orphan", TITLE);
        use(1, job);
        assertTerminated(job, "non-env-processes", "session");
    }

    @Test
    void orphanWithoutASessionIsUnknown() throws IOException {
        var job = startOrphan();
        startService();
        assertUnharmed(job, "", "unknown");
        awaitOnlyMembershipUnknown();
    }

    @Test
    void orphanWithoutASessionIsOutsideIfTheSettingSaysSo() throws IOException {
        var job = startOrphan();
        machine.program().set("OVERWRITTEN_ENVIRON", "outside");
        startService();
        assertTerminated(job, "non-env-processes", "setting");
    }

    private SteppedProcess startOrphan() throws IOException {
        var job = startJob(OUTSIDE, "orphan", "setsid", TITLE);
        writeEnvironment(OTHER_USER, add(Child.ofUser(OTHER_USER)).pid());
        use(1, job);
        // On a machine where all processes of this test are in one systemd unit, these do not agree.
        add(Child.ofUser(USER));
        add(Child.ofUser(USER, IN_ENVIRONMENT));
        return job;
    }

    private SteppedProcess startJob(Map<String, String> variables, String... steps) throws IOException {
        var all = new ArrayList<>(List.of("setsid"));
        all.addAll(List.of(steps));
        return add(SteppedProcess.ofUser(USER, machine.stateDirectory(), variables, all.toArray(String[]::new)));
    }

    private <P extends TestProcess> P add(P process) {
        processes.add(process);
        return process;
    }

    private void writeEnvironment(int uid, int shell) throws IOException {
        machine.state()
                .env(ENVIRONMENT, uid, null, null, shell)
                .device(0, ENVIRONMENT)
                .device(1)
                .device(2)
                .write();
    }

    private void use(int gpu, TestProcess job) throws IOException {
        machine.gpus().process(gpu, job.pid(), "10");
    }

    private void startService() throws IOException {
        client = new ServiceClient(machine.program().startService());
        client.awaitObservation();
    }

    private void assertUnharmed(TestProcess job, String environment, String by) throws IOException {
        await().atMost(HANG).untilAsserted(() -> {
            var process = inSnapshot(job);
            assertThat(process.at("/membership/by").asText()).isEqualTo(by);
            assertThat(process.path("eid").asText("")).isEqualTo(environment);
        });
        client.awaitNext(client.awaitNext(client.observe()));
        assertThat(job.isAlive()).isTrue();
        assertThat(client.json("/violations")).isEmpty();
    }

    private void assertTerminated(TestProcess job, String rule, String by) throws IOException {
        await().atMost(HANG).until(() -> !job.isAlive());
        await().atMost(HANG)
                .untilAsserted(() -> assertThat(client.json("/violations")).anySatisfy(violation -> {
                    assertThat(violation.path("rule").asText()).isEqualTo(rule);
                    var process = violation.path("processes").path(0);
                    assertThat(process.path("pid").asInt()).isEqualTo(job.pid());
                    assertThat(process.at("/membership/by").asText()).isEqualTo(by);
                }));
    }

    private void awaitOnlyMembershipUnknown() {
        await().atMost(HANG).until(() -> client.observe().problems().equals(Set.of("membership_unknown")));
    }

    private JsonNode inSnapshot(TestProcess job) throws IOException {
        for (var host : client.json("/snapshot")) {
            for (var process : host.at("/processes/processes")) {
                if (process.path("pid").asInt() == job.pid()) {
                    return process;
                }
            }
        }
        return client.json("/snapshot").path("none");
    }
}

package dev.genv.enforcer.e2e.membership;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.SteppedProcess;
import dev.genv.enforcer.testsupport.linux.TestCgroup;
import dev.genv.enforcer.testsupport.linux.TestProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * The packaged program finds the environment, the container and the job of real processes, also of those that change their titles with
 * Python's setproctitle, which overwrites their environs. A machine has an environment with device 0; devices 1 and 2 are free.
 */
class NodeAttributionIT extends NodeSuite {
    private static final String ENVIRONMENT = "a";
    private static final Map<String, String> IN_ENVIRONMENT = Map.of("GENV_ENVIRONMENT_ID", ENVIRONMENT);
    private static final int USER = TestUsers.HONEST_UID;
    private static final String TITLE = "title:trainer: epoch 1";

    private final List<TestProcess> processes = new ArrayList<>();
    private ServiceClient client;

    @BeforeEach
    void allowUsers() throws IOException {
        Requirements.rootWithCapabilities();
        Files.setAttribute(directory, "unix:mode", 0755); // the users must be able to enter it
        Files.setAttribute(node.stateDirectory, "unix:mode", 0777);
        node.set("GRACE", "0s").set("NON_ENV_PROCESSES", "audit");
    }

    @AfterEach
    void closeProcesses() {
        processes.forEach(TestProcess::close);
    }

    @Test
    void titledJobThatTheServiceSawBeforeStaysInItsEnvironment() throws IOException {
        SteppedProcess.requireTitles();
        var job = add(SteppedProcess.ofUser(
                USER, node.stateDirectory, IN_ENVIRONMENT, "setsid", "orphan", "setsid", "pause", TITLE));
        node.state
                .env(ENVIRONMENT, USER, null, null, add(Child.ofUser(USER)).pid())
                .device(0, ENVIRONMENT)
                .device(1)
                .device(2)
                .write();
        use(0, job);
        startService();
        assertUnharmed(job, "environ");
        job.resume();
        assertUnharmed(job, "earlier");
        use(1, job);
        assertTerminated(job);
    }

    @Test
    void workloadIsThatOfTheCgroupAndTheEnviron() throws IOException {
        node.state.device(0).write();
        var bytes = new byte[32];
        RandomGenerator.getDefault().nextBytes(bytes);
        var id = HexFormat.of().formatHex(bytes);
        try (var cgroup = TestCgroup.create("docker-" + id + ".scope")) {
            var process = add(SteppedProcess.start(
                    node.stateDirectory,
                    Map.of("SLURM_JOB_ID", "4711"),
                    "cgroup:" + cgroup.directory(),
                    "uid:" + USER));
            use(0, process);
            startService();
            await().until(() -> !client.json("/violations").isEmpty());
            var workload = client.json("/violations").get(0).at("/processes/0/workload");
            process.close();
            assertThat(workload.at("/container/id").asText()).isEqualTo(id);
            assertThat(workload.at("/container/engine").asText()).isEqualTo("docker");
            assertThat(workload.at("/container/by").asText()).isEqualTo("cgroup");
            assertThat(workload.at("/slurm_job/id").asText()).isEqualTo("4711");
            assertThat(workload.at("/slurm_job/by").asText()).isEqualTo("environ");
            assertThat(workload.get("pod").isNull()).isTrue();
        }
    }

    private <P extends TestProcess> P add(P process) {
        processes.add(process);
        return process;
    }

    private void use(int gpu, TestProcess job) throws IOException {
        node.gpus.process(gpu, job.pid(), "10");
    }

    private void startService() throws IOException {
        client = new ServiceClient(node.startService());
        client.awaitObservation();
    }

    private void assertUnharmed(TestProcess job, String by) throws IOException {
        await().untilAsserted(() -> {
            var process = inSnapshot(job);
            assertThat(process.at("/membership/by").asText()).isEqualTo(by);
            assertThat(process.path("eid").asText("")).isEqualTo(ENVIRONMENT);
        });
        client.awaitNext(client.awaitNext(client.observe()));
        assertThat(job.isAlive()).isTrue();
        assertThat(client.json("/violations")).isEmpty();
    }

    private void assertTerminated(TestProcess job) {
        await().until(() -> !job.isAlive());
        await().untilAsserted(() -> assertThat(client.json("/violations")).anySatisfy(violation -> {
            assertThat(violation.path("rule").asText()).isEqualTo("env-devices");
            var process = violation.path("processes").path(0);
            assertThat(process.path("pid").asInt()).isEqualTo(job.pid());
            assertThat(process.at("/membership/by").asText()).isEqualTo("earlier");
        }));
    }

    private JsonNode inSnapshot(TestProcess job) throws IOException {
        for (var host : client.json("/snapshot")) {
            for (var process : host.at("/processes/processes")) {
                if (process.path("pid").asInt() == job.pid()) {
                    return process;
                }
            }
        }
        return MissingNode.getInstance();
    }
}

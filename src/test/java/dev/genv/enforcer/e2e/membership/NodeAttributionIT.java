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
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The packaged program finds the environment, the container and the job of real processes, also of those that change their titles with
 * Python's setproctitle, which overwrites their environs. A machine has an environment with device 0; devices 1 and 2 are free.
 */
@Tag("long")
class NodeAttributionIT extends NodeSuite {
    private static final int USER = TestUsers.HONEST_UID;

    @Test
    void titledJobStaysInItsEnvironmentAndAContainerIsFound() throws IOException {
        Requirements.rootWithCapabilities();
        SteppedProcess.requireTitles();
        Files.setAttribute(directory, "unix:mode", 0755); // the user must be able to enter it
        Files.setAttribute(node.stateDirectory, "unix:mode", 0777);
        var id = HexFormat.of().formatHex(new SecureRandom().generateSeed(32));
        try (var shell = Child.ofUser(USER);
                var cgroup = TestCgroup.create("docker-" + id + ".scope");
                var contained = SteppedProcess.start(
                        node.stateDirectory,
                        Map.of("SLURM_JOB_ID", "4711"), // which its user can write
                        "cgroup:" + cgroup.directory(),
                        "uid:" + USER);
                var job = SteppedProcess.ofUser(
                        USER,
                        node.stateDirectory,
                        Map.of("GENV_ENVIRONMENT_ID", "a"),
                        "setsid",
                        "orphan",
                        "setsid",
                        "pause",
                        "title:trainer: epoch 1")) {
            node.state
                    .env("a", USER, null, null, shell.pid())
                    .device(0, "a")
                    .device(1)
                    .device(2)
                    .write();
            node.gpus.process(0, job.pid(), "10").process(2, contained.pid(), "10");
            var client = new ServiceClient(
                    node.set("GRACE", "0s").set("NON_ENV_PROCESSES", "audit").startService());

            await().untilAsserted(() -> assertThat(process(client.json("/snapshot"), contained)
                            .path("workload")
                            .toString())
                    .contains("\"container\":{\"id\":\"%s\"}".formatted(id))
                    .contains("\"pod\":null", "\"slurm_job\":null"));
            awaitMembership(client, job, "environ");
            job.resume();
            awaitMembership(client, job, "earlier");
            client.awaitNext(client.awaitNext(client.observe()));
            assertThat(job.isAlive()).isTrue();
            assertThat(process(client.json("/violations"), job).isMissingNode()).isTrue();

            node.gpus.process(1, job.pid(), "10");
            await().until(() -> !job.isAlive());
            await().untilAsserted(() -> assertThat(client.json("/violations")).anySatisfy(violation -> {
                assertThat(violation.path("rule").asText()).isEqualTo("env-devices");
                assertThat(process(violation, job).at("/membership/by").asText())
                        .isEqualTo("earlier");
            }));
        }
    }

    private static void awaitMembership(ServiceClient client, TestProcess job, String by) {
        await().untilAsserted(() -> {
            var process = process(client.json("/snapshot"), job);
            assertThat(process.at("/membership/by").asText()).isEqualTo(by);
            assertThat(process.path("eid").asText("")).isEqualTo("a");
        });
    }

    /** What an answer has about a process; missing if it has nothing. */
    private static JsonNode process(JsonNode answer, TestProcess process) {
        return answer.findParents("pid").stream()
                .filter(each -> each.path("pid").asInt() == process.pid())
                .filter(each -> each.has("membership"))
                .findFirst()
                .orElse(MissingNode.getInstance());
    }
}

package dev.genv.enforcer.e2e.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.e2e.TestMachine;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.SteppedProcess;
import dev.genv.enforcer.testsupport.linux.TestCgroup;
import dev.genv.enforcer.testsupport.linux.TestProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The packaged program attributes real processes that break a rule. */
abstract class WorkloadSuite {
    private static final int USER = TestUsers.HONEST_UID;
    private static final Map<String, String> JOB = Map.of("SLURM_JOB_ID", "4711");

    @TempDir
    private Path directory;

    private final List<TestProcess> processes = new ArrayList<>();
    private TestMachine machine;

    abstract TestMachine start(Path folder) throws IOException;

    @BeforeEach
    void startMachine() throws IOException {
        Requirements.rootWithCapabilities();
        Files.setAttribute(directory, "unix:mode", 0755); // the user must be able to enter it
        machine = start(directory);
        Files.setAttribute(machine.stateDirectory(), "unix:mode", 0777);
        machine.state().device(0).write();
        machine.program().set("NON_ENV_PROCESSES", "audit");
    }

    @AfterEach
    void stopMachine() throws IOException {
        processes.forEach(TestProcess::close);
        if (machine != null) { // the requirement may be missing
            machine.close();
        }
    }

    @Test
    void containerIsThatOfTheCgroup() throws IOException {
        var bytes = new byte[32];
        RandomGenerator.getDefault().nextBytes(bytes);
        var id = HexFormat.of().formatHex(bytes);
        try (var cgroup = TestCgroup.create("docker-" + id + ".scope")) {
            var process = startProcess(Map.of("HOME", "/"), "cgroup:" + cgroup.directory(), "uid:" + USER);
            var workload = workload(process);
            processes.forEach(TestProcess::close);
            assertThat(workload.at("/container/id").asText()).isEqualTo(id);
            assertThat(workload.at("/container/engine").asText()).isEqualTo("docker");
            assertThat(workload.at("/container/by").asText()).isEqualTo("cgroup");
            assertThat(workload.get("pod").isNull()).isTrue();
        }
    }

    @Test
    void jobIsThatOfTheEnviron() throws IOException {
        var workload = workload(startProcess(JOB, "uid:" + USER));
        assertThat(workload.at("/slurm_job/id").asText()).isEqualTo("4711");
        assertThat(workload.at("/slurm_job/by").asText()).isEqualTo("environ");
    }

    private SteppedProcess startProcess(Map<String, String> variables, String... steps) throws IOException {
        var process = SteppedProcess.start(machine.stateDirectory(), variables, steps);
        processes.add(process);
        machine.gpus().process(0, process.pid(), "10");
        return process;
    }

    /** Returns the workload of a process in its violation, which is the same as in the snapshot and in the plan. */
    private JsonNode workload(TestProcess process) throws IOException {
        var client = new ServiceClient(machine.program().startService());
        await().until(() -> !client.json("/violations").isEmpty());
        var violation = client.json("/violations").get(0);
        assertThat(violation.at("/processes/0/pid").asInt()).isEqualTo(process.pid());
        var workload = violation.at("/processes/0/workload");
        assertThat(client.json("/snapshot").elements().next().at("/processes/processes/0/workload"))
                .isEqualTo(workload);
        return workload;
    }
}

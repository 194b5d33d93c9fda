package dev.genv.enforcer.remote.agent.python.process;

import static dev.genv.enforcer.remote.agent.python.PythonMachine.bytes;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Facts about the containers, pods and jobs of listed processes. */
@Timeout(600)
class PythonWorkloadTest extends PythonProcessFixture {
    private static final String ID = "9bca8d63d5fa610783847915bcff0ecac1273e5b4bed3f6fa1b07350e0135961";
    private static final String OTHER = "45490e76e0878aaa4d9808f7d2eefba37f093c3efbba9838b6d8ab804d9bd814";
    private static final String UID = "2c48913c-b29f-11e7-9350-020968147796";
    private static final String STATIC = "33d556edd3ae8ef21980288cef77ae8b";

    private Path logs;

    @BeforeEach
    void createLogs() throws IOException {
        logs = Files.createDirectories(folder.resolve("var/log"));
    }

    @Test
    void readsTheCgroupOfAProcessThatIsNotAttributed() throws Exception {
        process(7).cgroup("/docker/" + ID);
        var facts = machine.observe();
        assertThat(bytes(onlyProcess(facts).at("/cgroup/value"))).isEqualTo("0::/docker/" + ID + "\n");
        assertThat(facts.at("/pods/pods")).isEmpty();
        assertThat(facts.at("/pods/containers")).isEmpty();
    }

    @Test
    void skipsTheCgroupOfAnAttributedProcess() throws Exception {
        process(7).startTime(360_000);
        attribute(7, 360_000);
        assertThat(onlyProcess(machine.observe()).at("/cgroup/failure").asText())
                .isEqualTo("SKIPPED");
    }

    @Test
    void readsTheCgroupOfAProcessThatOnlyHasThePidOfAnAttributedOne() throws Exception {
        process(7).startTime(360_000);
        attribute(7, 359_999);
        assertThat(onlyProcess(machine.observe()).at("/cgroup/value").isMissingNode())
                .isFalse();
    }

    @Test
    void deliversTheLastJobThatCanBeANumber() throws Exception {
        process(7).environ("SLURM_JOB_ID=1", "MY_SLURM_JOB_ID=2", "SLURM_JOB_ID=3", "X=SLURM_JOB_ID=4");
        assertThat(job(machine.observe())).isEqualTo("3");
        process(7).environ("SLURM_JOB_ID=1", "SLURM_JOB_ID=" + "1".repeat(17));
        assertThat(job(machine.observe())).isEmpty();
        process(7).environ("A=B");
        assertThat(job(machine.observe())).isEmpty();
    }

    @Test
    void deliversTheNamesOfPods() throws Exception {
        process(7)
                .cgroup("/../../kubepods-burstable-pod" + UID.replace('-', '_') + ".slice/cri-containerd-" + ID
                        + ".scope");
        process(8).cgroup("/kubepods/burstable/pod" + STATIC + "/" + OTHER);
        Files.createDirectories(logs.resolve("pods/ml_train-0_" + UID));
        Files.createDirectories(logs.resolve("pods/kube-system_etcd-node_" + STATIC));
        Files.createDirectories(logs.resolve("pods/ml_train-1_" + UID.replace('2', '3')));
        Files.createDirectories(logs.resolve("containers"));
        for (var id : new String[] {ID, OTHER, ID.replace('9', '8')}) {
            Files.createSymbolicLink(logs.resolve("containers/train-0_ml_main-" + id + ".log"), Path.of("/nowhere"));
        }
        var pods = machine.observe().get("pods");
        assertThat(pods.get("pods"))
                .extracting(JsonNode::asText)
                .containsExactlyInAnyOrder("ml_train-0_" + UID, "kube-system_etcd-node_" + STATIC);
        assertThat(pods.get("containers"))
                .extracting(JsonNode::asText)
                .containsExactlyInAnyOrder("train-0_ml_main-" + ID + ".log", "train-0_ml_main-" + OTHER + ".log");
    }

    @Test
    void deliversNoNamesWithoutTheKubeletsFiles() throws Exception {
        process(7).cgroup("/kubepods/pod" + UID + "/" + ID);
        assertThat(machine.observe().at("/pods/pods")).isEmpty();
    }

    private void attribute(int pid, long startTime) {
        machine.request.withArray("attributed").addArray().add(pid).add(startTime);
    }

    private static String job(JsonNode facts) {
        return bytes(onlyProcess(facts).at("/environ/value/slurmJob"));
    }
}

package dev.genv.enforcer.remote.agent.python.process;

import static dev.genv.enforcer.remote.agent.python.PythonMachine.bytes;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Facts about the cgroups and jobs of listed processes. */
@Timeout(600)
class PythonWorkloadTest extends PythonProcessFixture {
    private static final String ID = "9bca8d63d5fa610783847915bcff0ecac1273e5b4bed3f6fa1b07350e0135961";

    @Test
    void readsTheCgroupOfAProcessThatIsNotAttributed() throws Exception {
        process(7).cgroup("/docker/" + ID);
        var facts = machine.observe();
        assertThat(bytes(onlyProcess(facts).at("/cgroup/value"))).isEqualTo("0::/docker/" + ID + "\n");
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

    private void attribute(int pid, long startTime) {
        machine.request.withArray("attributed").addArray().add(pid).add(startTime);
    }

    private static String job(JsonNode facts) {
        return bytes(onlyProcess(facts).at("/environ/value/slurmJob"));
    }
}

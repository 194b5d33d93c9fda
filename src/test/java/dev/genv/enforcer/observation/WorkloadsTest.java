package dev.genv.enforcer.observation;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.GpuProcess.Workload.SlurmJob;
import dev.genv.enforcer.model.GpuProcess.Workload.WorkloadSource;
import dev.genv.enforcer.model.ProcessId;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class WorkloadsTest {
    private static final String ID = "9bca8d63d5fa610783847915bcff0ecac1273e5b4bed3f6fa1b07350e0135961";
    private static final ProcessId JOB = new ProcessId(812, 1);
    private static final Reading<Bytes> SKIPPED = Reading.failed(Failure.SKIPPED, "");

    private final Workloads workloads = new Workloads();

    @Test
    void remembersTheCgroupOfAProcessUntilItIsGone() {
        assertThat(observe(Reading.failed(Failure.DENIED, ""), "")).isEqualTo(Workload.UNKNOWN);
        assertThat(workloads.known()).isEmpty();
        var first = observe(cgroup("/docker/" + ID), "");
        assertThat(first).extracting(Workload::container).isNotNull();
        assertThat(workloads.known()).containsExactly(JOB);
        assertThat(observe(SKIPPED, "")).isEqualTo(first);
        workloads.retain(Set.of());
        assertThat(workloads.known()).isEmpty();
        assertThat(observe(SKIPPED, "")).isEqualTo(Workload.UNKNOWN);
    }

    @Test
    void boundsWhatItRemembers() {
        for (var pid = 1; pid <= Workloads.MOST_REMEMBERED + 10; pid++) {
            workloads.resolve(new ProcessId(pid, 1), cgroup("/docker/" + ID), "");
        }
        workloads.begin();
        workloads.resolve(JOB, SKIPPED, null);
        assertThat(workloads.known()).hasSizeBetween(Workloads.MOST_REMEMBERED / 2, Workloads.MOST_REMEMBERED);
    }

    @Test
    void prefersTheJobOfTheCgroupAndRemembersThatOfAnEnvironThatWasOverwritten() {
        assertThat(observe(cgroup("/system.slice/slurmstepd.scope/job_7/step_0"), "8"))
                .extracting(Workload::slurmJob)
                .isEqualTo(new SlurmJob("7", WorkloadSource.CGROUP));
        assertThat(observe(cgroup("/"), null))
                .extracting(Workload::slurmJob)
                .isEqualTo(new SlurmJob("8", WorkloadSource.ENVIRON));
        assertThat(observe(cgroup("/"), "")).isNull();
    }

    private @Nullable Workload observe(Reading<Bytes> cgroup, @Nullable String job) {
        workloads.begin();
        return workloads.resolve(JOB, cgroup, job);
    }

    private static Reading<Bytes> cgroup(String path) {
        return Reading.of(Bytes.of(("0::" + path + "\n").getBytes(UTF_8)));
    }
}

package dev.genv.enforcer.observation.workload;

import dev.genv.enforcer.facts.Bytes;
import dev.genv.enforcer.facts.ProcessFacts;
import dev.genv.enforcer.facts.Reading;
import org.jspecify.annotations.Nullable;

/**
 * What was read about the workload of a process.
 *
 * @param cgroup the content of {@code /proc/PID/cgroup}
 * @param slurmJob the number of the job that its environ names, empty if it names none; null if its environ says nothing
 */
public record WorkloadReadings(
        Reading<Bytes> cgroup, @Nullable String slurmJob) {
    /** Of a process of which nothing was read. */
    public static final WorkloadReadings NONE = new WorkloadReadings(Reading.failed(Reading.Failure.SKIPPED, ""), null);

    /** Returns what the cgroup shows; null if it was not read. */
    @Nullable
    CgroupFinding finding() {
        if (!(cgroup instanceof Reading.Value<Bytes>(var content))) {
            return null;
        }
        var text = content.text();
        var isWhole = content.length() < ProcessFacts.LARGEST_CGROUP;
        return CgroupFinding.parse(
                isWhole ? text : text.substring(0, Math.min(text.length(), ProcessFacts.LARGEST_CGROUP)), isWhole);
    }
}

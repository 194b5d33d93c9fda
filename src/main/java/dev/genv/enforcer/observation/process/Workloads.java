package dev.genv.enforcer.observation.process;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.ProcessFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.GpuProcess.Workload.Pod;
import dev.genv.enforcer.model.GpuProcess.Workload.SlurmJob;
import dev.genv.enforcer.model.GpuProcess.Workload.WorkloadSource;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.process.CgroupPath.CgroupFinding;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Attributes processes to workloads. A process hardly ever changes its cgroup once it uses a GPU, so its cgroup is remembered and read
 * again only in every {@value #PERIOD}th observation. One thread at a time uses it.
 */
public final class Workloads {
    static final int PERIOD = 16;
    /** Incomplete observations forget nothing, and users choose the number of processes. */
    static final int MOST_REMEMBERED = 10_000;

    /** In the order in which they were last used. */
    private final LinkedHashMap<ProcessId, Entry> entries = new LinkedHashMap<>(16, 0.75f, true);

    private long observations;

    /**
     * A process.
     *
     * @param cgroup null if it was never read
     * @param slurmJob the job that its environ named when it was last intact; empty if it named none
     */
    private record Entry(@Nullable CgroupFinding cgroup, String slurmJob) {
        static final Entry NEW = new Entry(null, "");

        Workload workload() {
            var found = cgroup == null ? CgroupFinding.NONE : cgroup;
            var claimed = slurmJob.isEmpty() ? null : new SlurmJob(slurmJob, WorkloadSource.ENVIRON);
            return new Workload(
                    found.unit(),
                    found.container(),
                    found.pod() == null ? null : new Pod(found.pod()),
                    found.job() == null ? claimed : found.job());
        }
    }

    public void begin() {
        observations++;
    }

    /** Returns the workload of a process; null if nothing is known. */
    public @Nullable Workload resolve(ProcessId process, WorkloadReadings readings) {
        var entry = Optional.ofNullable(entries.get(process)).orElse(Entry.NEW);
        var found = readings.finding();
        entry = found == null ? entry : new Entry(found, entry.slurmJob());
        entry = readings.slurmJob() == null ? entry : new Entry(entry.cgroup(), readings.slurmJob());
        entries.put(process, entry);
        if (entries.size() > MOST_REMEMBERED) {
            entries.pollFirstEntry();
        }
        return entry.workload().orNull();
    }

    /** Returns the processes whose cgroups need not be read in the next observation. */
    public Set<ProcessId> known() {
        return entries.entrySet().stream()
                .filter(entry -> entry.getValue().cgroup() != null && !isDue(entry.getKey()))
                .map(Map.Entry::getKey)
                .collect(Collectors.toUnmodifiableSet());
    }

    public void retain(Set<ProcessId> processes) {
        entries.keySet().retainAll(processes);
    }

    /** Each observation reads some of them, so that none takes much longer than the others. */
    private boolean isDue(ProcessId process) {
        return (observations + process.pid()) % PERIOD == 0;
    }

    /**
     * What was read about the workload of a process.
     *
     * @param cgroup the content of {@code /proc/PID/cgroup}
     * @param slurmJob the number of the job that its environ names, empty if it names none; null if its environ says nothing
     */
    public record WorkloadReadings(
            Reading<Bytes> cgroup, @Nullable String slurmJob) {
        /** Of a process of which nothing was read. */
        public static final WorkloadReadings NONE =
                new WorkloadReadings(Reading.failed(Reading.Failure.SKIPPED, ""), null);

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
}

package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.GpuProcess.Workload.Container;
import dev.genv.enforcer.model.GpuProcess.Workload.Pod;
import dev.genv.enforcer.model.GpuProcess.Workload.SlurmJob;
import dev.genv.enforcer.model.GpuProcess.Workload.WorkloadSource;
import dev.genv.enforcer.model.ProcessId;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Attributes processes to workloads. A process hardly ever changes its cgroup once it uses a GPU, so its cgroup is remembered and read
 * again only in every {@value #PERIOD}th observation. One thread at a time uses it.
 */
final class Workloads {
    static final int PERIOD = 16;
    /** Incomplete observations forget nothing, and users choose the number of processes. */
    static final int MOST_REMEMBERED = 10_000;

    private final LinkedHashMap<ProcessId, Entry> entries = new LinkedHashMap<>(16, 0.75f, true);

    private long observations;

    /**
     * @param cgroup what it shows
     * @param slurmJob the job that the environ named when it was last intact; empty if it named none
     */
    private record Entry(Workload cgroup, String slurmJob) {
        @Nullable
        Workload workload() {
            var claimed = slurmJob.isEmpty() ? null : new SlurmJob(slurmJob, WorkloadSource.ENVIRON);
            return CgroupPath.combine(cgroup, new Workload(null, null, null, claimed))
                    .orNull();
        }
    }

    void begin() {
        observations++;
    }

    /**
     * Returns the workload of a process; null if it belongs to nothing.
     *
     * @param slurmJob the job that its environ names, empty if it names none; null if its environ says nothing
     */
    @Nullable
    Workload resolve(ProcessId process, Reading<Bytes> cgroup, @Nullable String slurmJob) {
        var known = entries.getOrDefault(process, new Entry(Workload.UNKNOWN, ""));
        var found = ofCgroup(cgroup);
        var entry = new Entry(
                found.equals(Workload.UNKNOWN) ? known.cgroup : found, slurmJob == null ? known.slurmJob : slurmJob);
        entries.put(process, entry);
        if (entries.size() > MOST_REMEMBERED) {
            entries.pollFirstEntry();
        }
        return entry.workload();
    }

    /** Returns the processes whose cgroups need not be read in the next observation. */
    Set<ProcessId> known() {
        return entries.entrySet().stream()
                .filter(entry -> Boolean.TRUE.equals(entry.getValue().cgroup().isWhole()) && !isDue(entry.getKey()))
                .map(Map.Entry::getKey)
                .collect(Collectors.toUnmodifiableSet());
    }

    void retain(Set<ProcessId> processes) {
        entries.keySet().retainAll(processes);
    }

    /** Each observation reads some of them, so that none takes much longer than the others. */
    private boolean isDue(ProcessId process) {
        return (observations + process.pid()) % PERIOD == 0;
    }

    /** Returns what {@code /proc/PID/cgroup} shows. */
    private static Workload ofCgroup(Reading<Bytes> cgroup) {
        if (!(cgroup instanceof Reading.Value<Bytes>(var content))) {
            return Workload.UNKNOWN;
        }
        var text = content.text();
        return content.length() < ProcessFacts.LARGEST_CGROUP
                ? CgroupPath.parseFile(text, true)
                : CgroupPath.parseFile(text.substring(0, Math.min(text.length(), ProcessFacts.LARGEST_CGROUP)), false);
    }

    /**
     * Interprets the path of a cgroup from its root on. The outermost container counts, because processes in it can create cgroups of any
     * name. So can a user below a scope or service that systemd has delegated to that user, such as {@code user@1000.service}: there, only
     * what rootless engines create is recognized, as a claim. A slice cannot be delegated.
     */
    static final class CgroupPath {
        /** The controllers of the hierarchies in which systemd keeps its units. */
        private static final Set<String> OF_SYSTEMD = Set.of("", "name=systemd");

        /** The beginning of the line of version 2, which the kernel writes last. */
        private static final String UNIFIED = "0::";

        private static final Pattern CONTAINER = Pattern.compile(
                "(?:(?<engine>docker|cri-containerd|crio|libpod|libpod-payload|nerdctl)-)?(?<id>[0-9a-f]{64})(?:\\.scope)?");
        private static final Map<String, String> ENGINES = Map.of(
                "docker", "docker",
                "cri-containerd", "containerd",
                "nerdctl", "containerd",
                "crio", "cri-o",
                "libpod", "podman",
                "libpod-payload", "podman");
        private static final Pattern LXC = Pattern.compile("lxc\\.payload\\.(?<id>[\\w.-]{1,64})");
        private static final Set<String> LXC_PARENTS = Set.of("lxc", "lxc.payload");
        /** Of the UUID, or of the hash of a static pod's manifest. systemd's names have underscores instead of dashes. */
        private static final String UID = "(?<uid>[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})";

        private static final Pattern POD_SLICE =
                Pattern.compile("(?:[\\w-]+-)?kubepods(?:-besteffort|-burstable)?-pod" + UID + "\\.slice");
        private static final Pattern POD = Pattern.compile("pod" + UID);
        private static final String KUBEPODS = "kubepods";
        private static final Pattern SLURM = Pattern.compile("slurm(?:_[\\w.-]+)?");
        private static final Pattern SLURM_USER = Pattern.compile("uid_[0-9]{1,10}");
        private static final Pattern SLURM_SCOPE = Pattern.compile("(?:[\\w.-]+_)?slurmstepd\\.scope");
        private static final Pattern SLURM_JOB = Pattern.compile("job_(?<id>[1-9][0-9]{0,9})");
        private static final Set<String> UNITS = Set.of(".scope", ".service");
        /** The kernel's limit. */
        private static final int LONGEST_NAME = 255;

        /** Services of root that create cgroups of containers below their own. */
        private static final Set<String> ENGINE_SERVICES = Set.of(
                "containerd.service",
                "crio.service",
                "docker.service",
                "k3s.service",
                "k3s-agent.service",
                "rke2-server.service",
                "rke2-agent.service");

        private static final String DELETED = " (deleted)";

        /** The path begins at an ancestor of the service's own cgroup, because the service runs in a cgroup namespace. */
        private final boolean isRelative;

        private final List<String> before = new ArrayList<>();
        private boolean isDelegated;
        private @Nullable String unit;
        private @Nullable Container container;
        private @Nullable Pod pod;
        private @Nullable SlurmJob job;

        private CgroupPath(boolean isRelative) {
            this.isRelative = isRelative;
        }

        /** Parses {@code /proc/PID/cgroup}, see cgroups(7). A text that is not whole may end within a line. */
        static Workload parseFile(String text, boolean isWhole) {
            // The first names of a path count even if the last ones are missing.
            var known = isWhole ? text : text.substring(0, Math.max(text.lastIndexOf('/'), 0));
            var found = known.lines()
                    .map(CgroupPath::parseLine)
                    .reduce(CgroupPath::combine)
                    .orElse(Workload.UNKNOWN);
            return isWhole || isDecided(known) ? found : found.incomplete();
        }

        /** Whether the missing end cannot name a container of root. The line of version 2 is the last one. */
        private static boolean isDecided(String text) {
            var last = text.substring(text.lastIndexOf('\n') + 1);
            return last.startsWith(UNIFIED)
                    && parsed(last.substring(UNIFIED.length())).isEnd();
        }

        private static Workload parseLine(String line) {
            var parts = line.split(":", 3);
            if (parts.length < 3) {
                return Workload.UNKNOWN;
            }
            var found = parse(parts[2]);
            return OF_SYSTEMD.contains(parts[1])
                    ? found
                    : new Workload(null, found.container(), found.pod(), found.slurmJob(), found.isWhole());
        }

        /** What the first one does not show, the other may: with version 1, some hierarchies show more than others. */
        private static Workload combine(Workload one, Workload other) {
            var isClaim = one.container() != null && one.container().by() == WorkloadSource.DELEGATED_CGROUP;
            return new Workload(
                    one.unit() == null ? other.unit() : one.unit(),
                    one.container() == null || (isClaim && other.container() != null)
                            ? other.container()
                            : one.container(),
                    one.pod() == null ? other.pod() : one.pod(),
                    one.slurmJob() == null ? other.slurmJob() : one.slurmJob(),
                    Boolean.TRUE.equals(one.isWhole()) && Boolean.TRUE.equals(other.isWhole()));
        }

        static Workload parse(String path) {
            return parsed(path).finding();
        }

        private static CgroupPath parsed(String path) {
            var names = names(path.endsWith(DELETED) ? path.substring(0, path.length() - DELETED.length()) : path);
            var isRelative = !names.isEmpty() && names.getFirst().equals("..");
            var parser = new CgroupPath(isRelative);
            names.stream()
                    .dropWhile(".."::equals)
                    .takeWhile(_ -> !parser.isComplete())
                    .forEach(parser::accept);
            return parser;
        }

        /** Splits the form that engines without systemd make of the path of a slice: {@code x.slice:cri-containerd:ID}. */
        private static List<String> names(String path) {
            var names = new ArrayList<String>();
            for (var name : path.split("/", -1)) {
                var parts = name.split(":", -1);
                if (parts.length == 3 && parts[0].endsWith(".slice")) {
                    names.add(parts[0]);
                    names.add(parts[1].isEmpty() ? parts[2] : parts[1] + "-" + parts[2]);
                } else if (!name.isEmpty()) {
                    names.add(name);
                }
            }
            return names;
        }

        private boolean isEnd() {
            return isDelegated || isComplete();
        }

        private boolean isComplete() {
            return container != null || job != null;
        }

        private Workload finding() {
            var isOfEngine = container != null && unit != null && ENGINE_SERVICES.contains(unit);
            return new Workload(isOfEngine ? null : unit, container, pod, job);
        }

        private void accept(String name) {
            if (isDelegated) {
                container = container(name, WorkloadSource.DELEGATED_CGROUP);
            } else {
                container = container(name, WorkloadSource.CGROUP);
                pod = pod == null ? pod(name) : pod;
                job = job(name);
                if (!isComplete()) {
                    enter(name);
                }
            }
            before.add(name);
        }

        /** Goes on below a cgroup that is neither a container nor a job. */
        private void enter(String name) {
            if (UNITS.stream().anyMatch(name::endsWith)
                    && !SLURM_SCOPE.matcher(name).matches()) {
                unit = unit == null && name.length() <= LONGEST_NAME ? name : unit;
                isDelegated = !ENGINE_SERVICES.contains(name);
            } else if (before.isEmpty() && name.equals("user")) {
                isDelegated = true; // pam_cgfs gives users their own cgroups there
            }
        }

        private @Nullable Container container(String name, WorkloadSource by) {
            var match = CONTAINER.matcher(name);
            if (match.matches()) {
                var prefix = match.group("engine");
                if (prefix != null || by == WorkloadSource.CGROUP) {
                    return new Container(match.group("id"), engine(prefix), by);
                }
            }
            return by == WorkloadSource.CGROUP ? containerOfLxc(name) : null;
        }

        private @Nullable String engine(@Nullable String prefix) {
            return ENGINES.get(prefix == null ? previous() : prefix);
        }

        private @Nullable Container containerOfLxc(String name) {
            var match = LXC.matcher(LXC_PARENTS.contains(previous()) ? "lxc.payload." + name : name);
            return match.matches() ? new Container(match.group("id"), "lxc", WorkloadSource.CGROUP) : null;
        }

        private @Nullable Pod pod(String name) {
            var slice = POD_SLICE.matcher(name);
            if (slice.matches()) {
                return new Pod(slice.group("uid").replace('_', '-'));
            }
            var plain = POD.matcher(name);
            var isInKubernetes = before.contains(KUBEPODS) || (isRelative && before.isEmpty());
            return isInKubernetes && plain.matches() ? new Pod(plain.group("uid")) : null;
        }

        private @Nullable SlurmJob job(String name) {
            var match = SLURM_JOB.matcher(name);
            return match.matches() && isSlurm() ? new SlurmJob(match.group("id"), WorkloadSource.CGROUP) : null;
        }

        private boolean isSlurm() {
            return SLURM_SCOPE.matcher(previous()).matches()
                    || (before.size() == 2
                            && SLURM.matcher(before.getFirst()).matches()
                            && SLURM_USER.matcher(before.getLast()).matches());
        }

        private String previous() {
            return before.isEmpty() ? "" : before.getLast();
        }
    }
}

package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.GpuProcess.Workload.Container;
import dev.genv.enforcer.model.GpuProcess.Workload.Pod;
import dev.genv.enforcer.model.GpuProcess.Workload.SlurmJob;
import dev.genv.enforcer.model.SafeText;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Finds the container, the pod and the job of Slurm in the path of a cgroup, from its root on. The outermost container or job counts, because
 * processes in it can create cgroups of any name. So can a user below a scope or service that systemd has delegated to that user, such as
 * {@code user@1000.service}: what has such a name there is a claim, and below a service of the system it is unknown whose. A slice cannot be
 * delegated.
 */
final class Workloads {
    /** The monitors of Podman and CRI-O run beside the container whose id they have. */
    private static final Pattern CONTAINER =
            Pattern.compile("(?:(?![a-z-]*conmon-)[a-z][a-z-]*-)?(?<id>[0-9a-f]{64})(?:\\.scope)?");

    private static final Pattern LXC = Pattern.compile("lxc\\.payload\\.(?<id>[\\w.-]{1,64})");
    private static final Set<String> LXC_PARENTS = Set.of("lxc", "lxc.payload");
    /** Of the UUID, or of the hash of a static pod's manifest. systemd's names have underscores instead of dashes. */
    private static final Pattern POD = Pattern.compile("(?<slice>(?:[\\w-]+-)?kubepods(?:-besteffort|-burstable)?-)?pod"
            + "(?<uid>[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\\.slice)?");

    private static final Pattern JOB = Pattern.compile("job_(?<id>[1-9][0-9]{0,9})");
    private static final Pattern SLURM_SCOPE = Pattern.compile("(?:[\\w.-]+_)?slurmstepd\\.scope");
    private static final Pattern SLURM_USER = Pattern.compile("slurm(?:_[\\w.-]+)?/uid_[0-9]{1,10}");
    /** Services of root that create cgroups of containers below their own. */
    private static final Set<String> ENGINE_SERVICES = Set.of(
            "containerd.service",
            "crio.service",
            "docker.service",
            "k3s.service",
            "k3s-agent.service",
            "rke2-server.service",
            "rke2-agent.service");

    /** Where all scopes and services are users'. A service of the system may be root's or a user's. */
    private static final Set<String> USERS = Set.of("user.slice", "user");

    /** The beginning of the line of version 2, which the kernel writes last. */
    private static final String UNIFIED = "0::";

    /** What the last observation and this one asked for: most processes stay in their cgroups. */
    private Map<Reading<Bytes>, Workload> before = Map.of();

    private Map<Reading<Bytes>, Workload> known = new HashMap<>();

    void beginObservation() {
        before = known;
        known = new HashMap<>();
    }

    /** Interprets a file, unless the last observation did. */
    Workload interpret(Reading<Bytes> cgroup) {
        return known.computeIfAbsent(cgroup, _ -> {
            var earlier = before.get(cgroup);
            return earlier == null ? of(cgroup) : earlier;
        });
    }

    /** Interprets {@code /proc/PID/cgroup}, see cgroups(7). With version 1, some hierarchies show more than others. */
    static Workload of(Reading<Bytes> cgroup) {
        if (!(cgroup instanceof Reading.Value<Bytes>(var content))) {
            return Workload.UNKNOWN;
        }
        var isWhole = content.length() < ProcessFacts.LARGEST_CGROUP;
        // The first names of a path count even if the last ones are missing.
        var text = content.text();
        var lines = lines(isWhole ? text : text.substring(0, Math.max(text.lastIndexOf('/'), 0)));
        var hasAllLines = isWhole || (!lines.isEmpty() && lines.getLast().startsWith(UNIFIED));
        var found = IntStream.range(0, lines.size())
                .mapToObj(i -> ofLine(lines.get(i), isWhole || i < lines.size() - 1))
                .reduce(Workloads::combine)
                .orElse(Workload.UNKNOWN);
        return hasAllLines ? found : combine(found, Workload.UNKNOWN);
    }

    /** The name of a cgroup can contain every character but this one and a slash. */
    static List<String> lines(String cgroup) {
        return Stream.of(cgroup.split("\n", -1)).filter(line -> !line.isEmpty()).toList();
    }

    private static Workload ofLine(String line, boolean isWhole) {
        var parts = line.split(":", 3);
        return parts.length < 3 ? Workload.UNKNOWN : ofPath(parts[2], isWhole);
    }

    private static Workload combine(Workload one, Workload other) {
        return new Workload(
                one.cgroup() == null || one.cgroup().equals("/") ? other.cgroup() : one.cgroup(),
                one.container() == null ? other.container() : one.container(),
                one.pod() == null ? other.pod() : one.pod(),
                one.slurmJob() == null ? other.slurmJob() : one.slurmJob(),
                Boolean.TRUE.equals(one.isWhole()) && Boolean.TRUE.equals(other.isWhole()));
    }

    /** @param isWhole whether no names are missing at the end of the path */
    static Workload ofPath(String path, boolean isWhole) {
        // Engines without systemd make x.slice:cri-containerd:ID of the path of a slice.
        var names = Stream.of(path.replaceFirst(" \\(deleted\\)$", "").split("[/:]", -1))
                .filter(name -> !name.isEmpty() && !name.equals(".."))
                .toList();
        Container container = null;
        Pod pod = null;
        SlurmJob job = null;
        var isDecided = isWhole;
        for (var i = 0; i < names.size() && container == null && job == null; i++) {
            var name = names.get(i);
            var parent = i == 0 ? "" : names.get(i - 1);
            container = container(name, parent);
            job = job(name, parent, i == 2 ? names.getFirst() : "");
            // In a cgroup namespace the path begins at an ancestor of the service's own cgroup, such as all pods.
            var isInKubernetes =
                    i == 0 ? path.startsWith("/..") : names.subList(0, i).contains("kubepods");
            pod = pod == null ? pod(name, isInKubernetes) : pod;
            if (container == null && job == null && isDelegated(name, i == 0)) {
                isDecided = USERS.contains(names.getFirst())
                        || (isWhole && names.stream().skip(i + 1).allMatch(below -> container(below, "") == null));
                break;
            }
        }
        return new Workload(SafeText.cut(path), container, pod, job, isDecided || container != null || job != null);
    }

    private static @Nullable Container container(String name, String parent) {
        var match = CONTAINER.matcher(name);
        var ofLxc = LXC.matcher(LXC_PARENTS.contains(parent) ? "lxc.payload." + name : name);
        if (match.matches()) {
            return new Container(match.group("id"));
        }
        return ofLxc.matches() ? new Container(ofLxc.group("id")) : null;
    }

    private static @Nullable Pod pod(String name, boolean isInKubernetes) {
        var match = POD.matcher(name);
        return match.matches() && (isInKubernetes || match.group("slice") != null)
                ? new Pod(match.group("uid").replace('_', '-'))
                : null;
    }

    private static @Nullable SlurmJob job(String name, String parent, String grandparent) {
        var match = JOB.matcher(name);
        var isInSlurm = SLURM_SCOPE.matcher(parent).matches()
                || SLURM_USER.matcher(grandparent + "/" + parent).matches();
        return isInSlurm && match.matches() ? new SlurmJob(match.group("id")) : null;
    }

    /** Whether a user may manage what lies below; pam_cgfs gives users their own cgroups below {@code /user}. */
    private static boolean isDelegated(String name, boolean isFirst) {
        var isUnit = name.endsWith(".scope") || name.endsWith(".service");
        return isUnit
                ? !ENGINE_SERVICES.contains(name) && !SLURM_SCOPE.matcher(name).matches()
                : isFirst && name.equals("user");
    }
}

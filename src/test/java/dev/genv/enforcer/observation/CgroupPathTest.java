package dev.genv.enforcer.observation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.GpuProcess.Workload.Container;
import dev.genv.enforcer.model.GpuProcess.Workload.Pod;
import dev.genv.enforcer.model.GpuProcess.Workload.SlurmJob;
import dev.genv.enforcer.model.GpuProcess.Workload.WorkloadSource;
import dev.genv.enforcer.observation.Workloads.CgroupPath;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Paths as the engines' sources and documents form them; the ids are replaced. */
class CgroupPathTest {
    private static final String ID = "9bca8d63d5fa610783847915bcff0ecac1273e5b4bed3f6fa1b07350e0135961";
    private static final String OTHER = "45490e76e0878aaa4d9808f7d2eefba37f093c3efbba9838b6d8ab804d9bd814";
    private static final String UID = "2c48913c-b29f-11e7-9350-020968147796";
    private static final String SLICE_UID = UID.replace('-', '_');
    private static final String STATIC = "33d556edd3ae8ef21980288cef77ae8b";
    private static final String USER = "/user.slice/user-1000.slice/user@1000.service";

    /**
     * A path and what it shows.
     *
     * @param source where this form comes from
     */
    record Row(String source, String path, Workload finding) {
        @Override
        public String toString() {
            return source + ": " + path;
        }
    }

    static Stream<Row> rows() {
        return Stream.of(engines(), kubernetes(), namespaces(), slurm(), units(), users())
                .flatMap(rows -> rows);
    }

    private static Stream<Row> engines() {
        return Stream.of(
                row("Docker, systemd driver", "/system.slice/docker-" + ID + ".scope", container("docker")),
                row("Docker, cgroupfs driver", "/docker/" + ID, container("docker")),
                row("Docker, cgroup parent", "/gpu-jobs/" + ID, container(null)),
                row(
                        "Docker, slice as parent",
                        "/gpu.slice/gpu-jobs.slice/docker-" + ID + ".scope",
                        container("docker")),
                row("Docker in Docker", "/docker/" + ID + "/docker/" + OTHER, container("docker")),
                row("containerd, nerdctl", "/system.slice/nerdctl-" + ID + ".scope", container("containerd")),
                row("containerd, ctr", "/default/" + ID, container(null)),
                row("Podman", "/machine.slice/libpod-" + ID + ".scope/container", container("podman")),
                row(
                        "Podman, pod",
                        "/machine.slice/machine-libpod_pod_" + OTHER + ".slice/libpod-" + ID + ".scope",
                        container("podman")),
                row("Podman, cgroupfs", "/libpod_parent/libpod-" + ID, container("podman")),
                row("LXC, Incus", "/lxc.payload.gpu-1", lxc("gpu-1")),
                row("LXC, Docker in it", "/lxc.payload.gpu-1/system.slice/docker-" + ID + ".scope", lxc("gpu-1")),
                row("LXC, version 1", "/lxc/gpu-1/user.slice", lxc("gpu-1")),
                row("kernel, removed", "/docker/" + ID + " (deleted)", container("docker")));
    }

    private static Stream<Row> kubernetes() {
        var burstable = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + SLICE_UID + ".slice";
        return Stream.of(
                row(
                        "containerd, systemd driver",
                        burstable + "/cri-containerd-" + ID + ".scope",
                        pod("containerd", UID)),
                row("CRI-O, systemd driver", burstable + "/crio-" + ID + ".scope/container", pod("cri-o", UID)),
                row("dockershim", burstable + "/docker-" + ID + ".scope", pod("docker", UID)),
                row(
                        "guaranteed",
                        "/kubepods.slice/kubepods-pod" + SLICE_UID + ".slice/cri-containerd-" + ID + ".scope",
                        pod("containerd", UID)),
                row("cgroupfs driver", "/kubepods/besteffort/pod" + UID + "/" + ID, pod(null, UID)),
                row("cgroupfs driver, guaranteed", "/kubepods/pod" + UID + "/crio-" + ID, pod("cri-o", UID)),
                row("static pod", "/kubepods/burstable/pod" + STATIC + "/" + ID, pod(null, STATIC)),
                row(
                        "--cgroup-root",
                        "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
                                + "kubelet-kubepods-besteffort-pod" + SLICE_UID + ".slice/cri-containerd-" + ID
                                + ".scope",
                        pod("containerd", UID)),
                row(
                        "containerd without SystemdCgroup",
                        "/system.slice/containerd.service/kubepods-besteffort-pod" + SLICE_UID
                                + ".slice:cri-containerd:" + ID,
                        pod("containerd", UID)),
                row(
                        "the same, version 1",
                        "/kubepods-besteffort-pod" + SLICE_UID + ".slice:cri-containerd:" + ID,
                        pod("containerd", UID)),
                row(
                        "Docker in a pod",
                        burstable + "/cri-containerd-" + ID + ".scope/docker/" + OTHER,
                        pod("containerd", UID)),
                row("kind", "/docker/" + ID + "/kubepods/besteffort/pod" + UID + "/" + OTHER, container("docker")),
                row("a pod without container", burstable, new Workload(null, null, new Pod(UID), null)));
    }

    /** The service runs in a cgroup namespace of its own: the paths begin at its own cgroup. */
    private static Stream<Row> namespaces() {
        return Stream.of(
                row("sibling, cgroupfs driver", "/../../pod" + UID + "/" + ID, pod(null, UID)),
                row("the same pod", "/../crio-" + ID + ".scope", container("cri-o")),
                row(
                        "sibling, systemd driver",
                        "/../../kubepods-burstable-pod" + SLICE_UID + ".slice/cri-containerd-" + ID + ".scope",
                        pod("containerd", UID)),
                row("Docker", "/../docker-" + ID + ".scope", container("docker")),
                row("Slurm", "/../slurmstepd.scope/job_123/step_0/user/task_0", job("123")),
                row("a session", "/../../user.slice/user-1000.slice/session-2.scope", unit("session-2.scope")),
                row("its own", "/", Workload.NONE));
    }

    private static Stream<Row> slurm() {
        return Stream.of(
                row("version 2", "/system.slice/slurmstepd.scope/job_1392969/step_0/user/task_0", job("1392969")),
                row("version 2, several slurmd", "/system.slice/n1_slurmstepd.scope/job_42/step_batch", job("42")),
                row("pam_slurm_adopt", "/system.slice/slurmstepd.scope/job_42/step_extern/user", job("42")),
                row("version 1", "/slurm/uid_1000/job_280678/step_interactive/task_0", job("280678")),
                row("version 1, several slurmd", "/slurm_n1/uid_1000/job_7/step_0", job("7")),
                row("no job", "/system.slice/slurmstepd.scope/system", Workload.NONE),
                row("no number", "/system.slice/slurmstepd.scope/job_0x7", Workload.NONE),
                row("too long", "/system.slice/slurmstepd.scope/job_12345678901", Workload.NONE),
                row("deeper", "/system.slice/slurmstepd.scope/system/job_7", Workload.NONE));
    }

    private static Stream<Row> units() {
        return Stream.of(
                row("service", "/system.slice/ollama.service", unit("ollama.service")),
                row("session", "/user.slice/user-1000.slice/session-2.scope", unit("session-2.scope")),
                row("user manager", USER + "/app.slice/jupyter.service", unit("user@1000.service")),
                row("first process", "/init.scope", unit("init.scope")),
                row("engine", "/system.slice/containerd.service", unit("containerd.service")),
                row(
                        "Podman's monitor",
                        "/machine.slice/libpod-conmon-" + ID + ".scope",
                        unit("libpod-conmon-" + ID + ".scope")),
                row("virtual machine", "/machine.slice/machine-qemu.scope", unit("machine-qemu.scope")),
                row("nothing", "/", Workload.NONE),
                row("a slice", "/user.slice", Workload.NONE));
    }

    /** What users can create: names below a cgroup that was delegated to them. */
    private static Stream<Row> users() {
        return Stream.of(
                row(
                        "rootless Podman",
                        USER + "/user.slice/libpod-" + ID + ".scope/container",
                        claim("podman", "user@1000.service")),
                row(
                        "rootless Docker",
                        USER + "/user.slice/docker-" + ID + ".scope",
                        claim("docker", "user@1000.service")),
                row("Quadlet", "/system.slice/llm.service/libpod-payload-" + ID, claim("podman", "llm.service")),
                row(
                        "another user's container",
                        USER + "/system.slice/docker-" + ID + ".scope",
                        claim("docker", "user@1000.service")),
                row("an id without engine", USER + "/docker/" + ID, unit("user@1000.service")),
                row("a pod", USER + "/kubepods.slice/kubepods-pod" + SLICE_UID + ".slice/x", unit("user@1000.service")),
                row("a pod, plain", USER + "/kubepods/pod" + UID + "/" + ID, unit("user@1000.service")),
                row("a job", USER + "/system.slice/slurmstepd.scope/job_1/step_0", unit("user@1000.service")),
                row("a job, version 1", USER + "/slurm/uid_0/job_1", unit("user@1000.service")),
                row("an engine's service", USER + "/containerd.service/" + ID, unit("user@1000.service")),
                row("LXC", USER + "/lxc.payload.web", unit("user@1000.service")),
                row("pam_cgfs", "/user/alice/0/docker/" + ID, Workload.NONE),
                row("a claim in a container", "/docker/" + ID + "/slurm/uid_0/job_1", container("docker")),
                row("a pod in a container", "/docker/" + ID + "/kubepods/pod" + UID, container("docker")),
                row("63 digits", "/docker/" + ID.substring(1), Workload.NONE),
                row("upper case", "/docker/" + ID.toUpperCase(java.util.Locale.ROOT), Workload.NONE),
                row("no path", "", Workload.NONE),
                row("only dots", "/../..", Workload.NONE),
                row("a name of LXC with blanks", "/lxc.payload.a b", Workload.NONE));
    }

    @ParameterizedTest
    @MethodSource("rows")
    void parses(Row row) {
        assertThat(CgroupPath.parse(row.path())).isEqualTo(row.finding());
    }

    @Test
    void findsThePodInAnyHierarchyOfVersion1AndTheUnitInThatOfSystemd() {
        var text =
                "11:devices:/kubepods/pod" + UID + "/" + ID + "\n1:name=systemd:/system.slice/docker.service\n0::/\n";
        assertThat(CgroupPath.parseFile(text, true))
                .isEqualTo(new Workload("docker.service", pod(null, UID).container(), new Pod(UID), null));
    }

    @Test
    void findsTheJobOfVersion1BesidesTheServiceOfSystemd() {
        var text = "11:cpuset:/slurm/uid_1000/job_195428/step_batch\n1:name=systemd:/system.slice/slurmd.service\n";
        assertThat(CgroupPath.parseFile(text, true))
                .isEqualTo(
                        new Workload("slurmd.service", null, null, job("195428").slurmJob()));
    }

    @Test
    void prefersAFactToAClaim() {
        var text = "2:pids:" + USER + "/docker-" + OTHER + ".scope\n1:devices:/docker/" + ID + "\n";
        assertThat(CgroupPath.parseFile(text, true)).isEqualTo(container("docker"));
    }

    @Test
    void usesTheFirstNamesOfAPathThatWasCutOff() {
        var text = "0::/system.slice/slurmstepd.scope/job_12/step_0/" + "a/".repeat(2000);
        assertThat(CgroupPath.parseFile(text, false)).isEqualTo(job("12"));
        assertThat(CgroupPath.parseFile("0::/slurm/uid_0/job_12", false)).isEqualTo(Workload.NONE);
    }

    @Test
    void ignoresLinesOfAnotherForm() {
        assertThat(CgroupPath.parseFile("\nx\n0:\n::\n", true)).isEqualTo(Workload.NONE);
    }

    private static Row row(String source, String path, Workload finding) {
        return new Row(source, path, finding);
    }

    private static Workload unit(String name) {
        return new Workload(name, null, null, null);
    }

    private static Workload job(String id) {
        return new Workload(null, null, null, new SlurmJob(id, WorkloadSource.CGROUP));
    }

    private static Workload container(@Nullable String engine) {
        return pod(engine, null);
    }

    private static Workload lxc(String name) {
        return new Workload(null, new Container(name, "lxc", WorkloadSource.CGROUP), null, null);
    }

    private static Workload pod(@Nullable String engine, @Nullable String uid) {
        return new Workload(
                null, new Container(ID, engine, WorkloadSource.CGROUP), uid == null ? null : new Pod(uid), null);
    }

    private static Workload claim(String engine, String unit) {
        return new Workload(unit, new Container(ID, engine, WorkloadSource.DELEGATED_CGROUP), null, null);
    }
}

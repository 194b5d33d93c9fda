package dev.genv.enforcer.observation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.GpuProcess.Workload.WorkloadSource;
import dev.genv.enforcer.model.Ternary;
import dev.genv.enforcer.observation.Workloads.CgroupPath;
import java.util.ArrayList;
import java.util.Locale;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Paths as the engines' sources and documents form them; the ids are replaced. */
class CgroupPathTest {
    private static final String ID = "9bca8d63d5fa610783847915bcff0ecac1273e5b4bed3f6fa1b07350e0135961";
    private static final String OTHER = "45490e76e0878aaa4d9808f7d2eefba37f093c3efbba9838b6d8ab804d9bd814";
    private static final String UID = "2c48913c-b29f-11e7-9350-020968147796";
    private static final String STATIC = "33d556edd3ae8ef21980288cef77ae8b";

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
        # Container engines
        Docker, systemd driver | /system.slice/docker-{ID}.scope | docker
        Docker, cgroupfs driver | /docker/{ID} | docker
        Docker, cgroup parent | /gpu-jobs/{ID} | unknown engine
        Docker, slice as parent | /gpu.slice/gpu-jobs.slice/docker-{ID}.scope | docker
        Docker in Docker | /docker/{ID}/docker/{OTHER} | docker
        containerd, nerdctl | /system.slice/nerdctl-{ID}.scope | containerd
        containerd, ctr | /default/{ID} | unknown engine
        Podman | /machine.slice/libpod-{ID}.scope/container | podman
        Podman, pod | /machine.slice/machine-libpod_pod_{OTHER}.slice/libpod-{ID}.scope | podman
        Podman, cgroupfs | /libpod_parent/libpod-{ID} | podman
        LXC, Incus | /lxc.payload.gpu-1 | lxc gpu-1
        LXC, Docker in it | /lxc.payload.gpu-1/system.slice/docker-{ID}.scope | lxc gpu-1
        LXC, version 1 | /lxc/gpu-1/user.slice | lxc gpu-1
        kernel, removed | /docker/{ID} (deleted) | docker
        # Kubernetes
        containerd, systemd driver | {BURSTABLE}/cri-containerd-{ID}.scope | containerd in pod UID
        CRI-O, systemd driver | {BURSTABLE}/crio-{ID}.scope/container | cri-o in pod UID
        dockershim | {BURSTABLE}/docker-{ID}.scope | docker in pod UID
        guaranteed | /kubepods.slice/kubepods-pod{SLICE}.slice/cri-containerd-{ID}.scope | containerd in pod UID
        cgroupfs driver | /kubepods/besteffort/pod{UID}/{ID} | unknown engine in pod UID
        cgroupfs driver, guaranteed | /kubepods/pod{UID}/crio-{ID} | cri-o in pod UID
        static pod | /kubepods/burstable/pod{STATIC}/{ID} | unknown engine in pod STATIC
        --cgroup-root | /kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod{SLICE}.slice/cri-containerd-{ID}.scope | containerd in pod UID
        containerd without SystemdCgroup | /system.slice/containerd.service/kubepods-besteffort-pod{SLICE}.slice:cri-containerd:{ID} | containerd in pod UID
        the same, version 1 | /kubepods-besteffort-pod{SLICE}.slice:cri-containerd:{ID} | containerd in pod UID
        Docker in a pod | {BURSTABLE}/cri-containerd-{ID}.scope/docker/{OTHER} | containerd in pod UID
        kind | /docker/{ID}/kubepods/besteffort/pod{UID}/{OTHER} | docker
        a pod without container | {BURSTABLE} | pod UID
        # The service runs in a cgroup namespace of its own: the paths begin at its own cgroup.
        sibling, cgroupfs driver | /../../pod{UID}/{ID} | unknown engine in pod UID
        the same pod | /../crio-{ID}.scope | cri-o
        sibling, systemd driver | /../../kubepods-burstable-pod{SLICE}.slice/cri-containerd-{ID}.scope | containerd in pod UID
        Docker | /../docker-{ID}.scope | docker
        Slurm | /../slurmstepd.scope/job_123/step_0/user/task_0 | job 123
        a session | /../../user.slice/user-1000.slice/session-2.scope | unit session-2.scope
        its own | / | nothing
        # Slurm
        version 2 | /system.slice/slurmstepd.scope/job_1392969/step_0/user/task_0 | job 1392969
        version 2, several slurmd | /system.slice/n1_slurmstepd.scope/job_42/step_batch | job 42
        pam_slurm_adopt | /system.slice/slurmstepd.scope/job_42/step_extern/user | job 42
        version 1 | /slurm/uid_1000/job_280678/step_interactive/task_0 | job 280678
        version 1, several slurmd | /slurm_n1/uid_1000/job_7/step_0 | job 7
        no job | /system.slice/slurmstepd.scope/system | nothing
        no number | /system.slice/slurmstepd.scope/job_0x7 | nothing
        too long | /system.slice/slurmstepd.scope/job_12345678901 | nothing
        deeper | /system.slice/slurmstepd.scope/system/job_7 | nothing
        # Units of systemd
        service | /system.slice/ollama.service | unit ollama.service
        session | /user.slice/user-1000.slice/session-2.scope | unit session-2.scope
        user manager | {USER}/app.slice/jupyter.service | unit user@1000.service
        first process | /init.scope | unit init.scope
        engine | /system.slice/containerd.service | unit containerd.service
        Podman's monitor | /machine.slice/libpod-conmon-{ID}.scope | unit libpod-conmon-ID.scope
        virtual machine | /machine.slice/machine-qemu.scope | unit machine-qemu.scope
        nothing | / | nothing
        a slice | /user.slice | nothing
        # What users can create: names below a cgroup that was delegated to them.
        rootless Podman | {USER}/user.slice/libpod-{ID}.scope/container | unit user@1000.service, claimed podman
        rootless Docker | {USER}/user.slice/docker-{ID}.scope | unit user@1000.service, claimed docker
        Quadlet | /system.slice/llm.service/libpod-payload-{ID} | unit llm.service, claimed podman
        another user's container | {USER}/system.slice/docker-{ID}.scope | unit user@1000.service, claimed docker
        an id without engine | {USER}/docker/{ID} | unit user@1000.service
        a pod | {USER}/kubepods.slice/kubepods-pod{SLICE}.slice/x | unit user@1000.service
        a pod, plain | {USER}/kubepods/pod{UID}/{ID} | unit user@1000.service
        a job | {USER}/system.slice/slurmstepd.scope/job_1/step_0 | unit user@1000.service
        a job, version 1 | {USER}/slurm/uid_0/job_1 | unit user@1000.service
        an engine's service | {USER}/containerd.service/{ID} | unit user@1000.service
        LXC | {USER}/lxc.payload.web | unit user@1000.service
        pam_cgfs | /user/alice/0/docker/{ID} | nothing
        a claim in a container | /docker/{ID}/slurm/uid_0/job_1 | docker
        a pod in a container | /docker/{ID}/kubepods/pod{UID} | docker
        63 digits | /docker/{SHORT} | nothing
        upper case | /docker/{UPPER} | nothing
        no path | "" | nothing
        only dots | /../.. | nothing
        a name of LXC with blanks | /lxc.payload.a b | nothing
        """)
    void parses(String source, String path, String expected) {
        assertThat(describe(CgroupPath.parse(expand(path)))).as(source).isEqualTo(expected);
    }

    /** Lines of version 1, with a semicolon between them. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        11:devices:/kubepods/pod{UID}/{ID};1:name=systemd:/system.slice/docker.service;0::/ | unit docker.service, unknown engine in pod UID
        11:cpuset:/slurm/uid_1000/job_195428/step_batch;1:name=systemd:/system.slice/slurmd.service | unit slurmd.service, job 195428
        # a fact before a claim
        2:pids:{USER}/docker-{OTHER}.scope;1:devices:/docker/{ID} | docker
        ;x;0:;:: | nothing
        """)
    void combinesTheLines(String lines, String expected) {
        var text = expand(lines).replace(';', '\n') + "\n";
        assertThat(describe(CgroupPath.parseFile(text, true))).isEqualTo(expected);
    }

    @Test
    void usesTheFirstNamesOfAPathThatWasCutOff() {
        var text = "0::/system.slice/slurmstepd.scope/job_12/step_0/" + "a/".repeat(2000);
        assertThat(describe(CgroupPath.parseFile(text, false))).isEqualTo("job 12");
        assertThat(CgroupPath.parseFile("0::/slurm/uid_0/job_12", false)).isEqualTo(Workload.UNKNOWN);
        assertThat(CgroupPath.parseFile("", true)).isEqualTo(Workload.UNKNOWN);
        assertThat(CgroupPath.parseFile("1:name=systemd:/user.slice/user-1000.slice/user@1000.service/a/", false)
                        .inContainerOfRoot())
                .as("the kernel may write more hierarchies")
                .isEqualTo(Ternary.UNKNOWN);
    }

    private static String expand(String path) {
        return path.replace(
                        "{BURSTABLE}", "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{SLICE}.slice")
                .replace("{USER}", "/user.slice/user-1000.slice/user@1000.service")
                .replace("{SLICE}", UID.replace('-', '_'))
                .replace("{UID}", UID)
                .replace("{STATIC}", STATIC)
                .replace("{ID}", ID)
                .replace("{SHORT}", ID.substring(1))
                .replace("{UPPER}", ID.toUpperCase(Locale.ROOT))
                .replace("{OTHER}", OTHER);
    }

    private static String describe(Workload workload) {
        var parts = new ArrayList<String>();
        if (workload.unit() != null) {
            parts.add("unit " + workload.unit().replace(ID, "ID"));
        }
        var container = workload.container();
        if (container != null) {
            var engine = Objects.requireNonNullElse(container.engine(), "unknown engine");
            parts.add((container.by() == WorkloadSource.CGROUP ? "" : "claimed ")
                    + (container.id().equals(ID) ? engine : engine + " " + container.id()));
        }
        if (workload.pod() != null) {
            var pod = "pod " + workload.pod().uid().replace(UID, "UID").replace(STATIC, "STATIC");
            parts.add(container == null ? pod : parts.removeLast() + " in " + pod);
        }
        if (workload.slurmJob() != null) {
            assertThat(workload.slurmJob().by()).isEqualTo(WorkloadSource.CGROUP);
            parts.add("job " + workload.slurmJob().id());
        }
        return parts.isEmpty() ? "nothing" : String.join(", ", parts);
    }
}

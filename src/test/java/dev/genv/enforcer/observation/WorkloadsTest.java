package dev.genv.enforcer.observation;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.Ternary;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Paths as the engines' sources and documents form them; the ids are replaced. Only what has a container or a pod is in a container of
 * root: a wrong YES lets a user escape a limit, a wrong NO counts the process of anybody as a user's.
 */
class WorkloadsTest {
    private static final String ID = "9bca8d63d5fa610783847915bcff0ecac1273e5b4bed3f6fa1b07350e0135961";
    private static final String OTHER = "45490e76e0878aaa4d9808f7d2eefba37f093c3efbba9838b6d8ab804d9bd814";
    private static final String UID = "2c48913c-b29f-11e7-9350-020968147796";
    private static final String STATIC = "33d556edd3ae8ef21980288cef77ae8b";

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
        # Container engines
        Docker, systemd driver | /system.slice/docker-{ID}.scope | container
        Docker, cgroupfs driver | /docker/{ID} | container
        Docker, cgroup parent | /gpu-jobs/{ID} | container
        Docker, slice as parent | /gpu.slice/gpu-jobs.slice/docker-{ID}.scope | container
        Docker in Docker | /docker/{ID}/docker/{OTHER} | container
        containerd, nerdctl | /system.slice/nerdctl-{ID}.scope | container
        containerd, ctr | /default/{ID} | container
        Podman | /machine.slice/libpod-{ID}.scope/container | container
        another engine | /system.slice/isulad-{ID}.scope | container
        CRI-O's monitor | {BURSTABLE}/crio-conmon-{ID}.scope | pod UID
        Podman, pod | /machine.slice/machine-libpod_pod_{OTHER}.slice/libpod-{ID}.scope | container
        Podman, cgroupfs | /libpod_parent/libpod-{ID} | container
        LXC, Incus | /lxc.payload.gpu-1 | lxc gpu-1
        LXC, Docker in it | /lxc.payload.gpu-1/system.slice/docker-{ID}.scope | lxc gpu-1
        LXC, version 1 | /lxc/gpu-1/user.slice | lxc gpu-1
        kernel, removed | /docker/{ID} (deleted) | container
        # Kubernetes
        containerd, systemd driver | {BURSTABLE}/cri-containerd-{ID}.scope | container in pod UID
        CRI-O, systemd driver | {BURSTABLE}/crio-{ID}.scope/container | container in pod UID
        dockershim | {BURSTABLE}/docker-{ID}.scope | container in pod UID
        guaranteed | /kubepods.slice/kubepods-pod{SLICE}.slice/cri-containerd-{ID}.scope | container in pod UID
        cgroupfs driver | /kubepods/besteffort/pod{UID}/{ID} | container in pod UID
        cgroupfs driver, guaranteed | /kubepods/pod{UID}/crio-{ID} | container in pod UID
        static pod | /kubepods/burstable/pod{STATIC}/{ID} | container in pod STATIC
        --cgroup-root | /kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod{SLICE}.slice/cri-containerd-{ID}.scope | container in pod UID
        containerd without SystemdCgroup | /system.slice/containerd.service/kubepods-besteffort-pod{SLICE}.slice:cri-containerd:{ID} | container in pod UID
        the same, version 1 | /kubepods-besteffort-pod{SLICE}.slice:cri-containerd:{ID} | container in pod UID
        Docker in a pod | {BURSTABLE}/cri-containerd-{ID}.scope/docker/{OTHER} | container in pod UID
        kind | /docker/{ID}/kubepods/besteffort/pod{UID}/{OTHER} | container
        a pod without container | {BURSTABLE} | pod UID
        # The service runs in a cgroup namespace of its own: the paths begin at its own cgroup.
        sibling, cgroupfs driver | /../../pod{UID}/{ID} | container in pod UID
        the same pod | /../crio-{ID}.scope | container
        sibling, systemd driver | /../../kubepods-burstable-pod{SLICE}.slice/cri-containerd-{ID}.scope | container in pod UID
        Docker | /../docker-{ID}.scope | container
        Slurm | /../slurmstepd.scope/job_123/step_0/user/task_0 | job 123
        a session | /../../user.slice/user-1000.slice/session-2.scope | nothing
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
        service | /system.slice/ollama.service | nothing
        session | /user.slice/user-1000.slice/session-2.scope | nothing
        user manager | {USER}/app.slice/jupyter.service | nothing
        first process | /init.scope | nothing
        engine | /system.slice/containerd.service | nothing
        Podman's monitor | /machine.slice/libpod-conmon-{ID}.scope | nothing
        virtual machine | /machine.slice/machine-qemu.scope | nothing
        nothing | / | nothing
        a slice | /user.slice | nothing
        # What users can create: names below a cgroup that was delegated to them.
        rootless Podman | {USER}/user.slice/libpod-{ID}.scope/container | nothing
        rootless Docker | {USER}/user.slice/docker-{ID}.scope | nothing
        another user's container | {USER}/system.slice/docker-{ID}.scope | nothing
        an id without engine | {USER}/docker/{ID} | nothing
        a pod | {USER}/kubepods.slice/kubepods-pod{SLICE}.slice/x | nothing
        a pod, plain | {USER}/kubepods/pod{UID}/{ID} | nothing
        a job | {USER}/system.slice/slurmstepd.scope/job_1/step_0 | nothing
        a job, version 1 | {USER}/slurm/uid_0/job_1 | nothing
        an engine's service | {USER}/containerd.service/{ID} | nothing
        LXC | {USER}/lxc.payload.web | nothing
        pam_cgfs | /user/alice/0/docker/{ID} | nothing
        a claim in a container | /docker/{ID}/slurm/uid_0/job_1 | container
        a pod in a container | /docker/{ID}/kubepods/pod{UID} | container
        63 digits | /docker/{SHORT} | nothing
        upper case | /docker/{UPPER} | nothing
        no path | "" | nothing
        only dots | /../.. | nothing
        a name of LXC with blanks | /lxc.payload.a b | nothing
        """)
    void parses(String source, String path, String expected) {
        var workload = Workloads.ofPath(expand(path), true);
        assertThat(describe(workload)).as(source).isEqualTo(expected);
        assertThat(workload.cgroup()).isEqualTo(expand(path));
        assertThat(workload.inContainerOfRoot())
                .as(source)
                .isEqualTo(Ternary.of(expected.matches("(container|lxc|pod) .*|container")));
    }

    /** Lines with a semicolon between them: of version 1, hybrid, and version 2 with the named hierarchy of systemd. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        11:devices:/kubepods/pod{UID}/{ID};1:name=systemd:/system.slice/docker.service;0::/ | container in pod UID | YES
        0::/system.slice/llm.service/libpod-payload-{ID} | nothing | UNKNOWN
        0::/system.slice/llm.service/app | nothing | NO
        0::{USER}/user.slice/libpod-{ID}.scope/container | nothing | NO
        11:cpuset:/slurm/uid_1000/job_195428/step_batch;1:name=systemd:/system.slice/slurmd.service | job 195428 | NO
        # hybrid: systemd manages version 2 alone
        12:pids:{USER};1:name=systemd:{USER}/app.slice;0::{USER}/app.slice | nothing | NO
        4:memory:/docker/{ID};0::/system.slice/docker.service | container | YES
        # a fact beside a claim
        2:pids:{USER}/docker-{OTHER}.scope;1:devices:/docker/{ID} | container | YES
        # a name with a carriage return, which a user may choose
        0::{USER}/xCR0::/docker-{OTHER}.scope | nothing | NO
        # only claims
        2:pids:{USER}/docker-{OTHER}.scope;1:name=systemd:{USER};0::{USER}/libpod-{ID}.scope | nothing | NO
        ;x;0:;:: | nothing | UNKNOWN
        x;0::/docker/{ID} | container | YES
        """)
    void combinesTheLines(String lines, String expected, Ternary inContainerOfRoot) {
        var workload = of(expand(lines).replace(';', '\n').replace("CR", "\r") + "\n");
        assertThat(describe(workload)).isEqualTo(expected);
        assertThat(workload.inContainerOfRoot()).isEqualTo(inContainerOfRoot);
    }

    @Test
    void showsThePathOfTheFirstHierarchyThatIsNotTheRoot() {
        assertThat(of("2:pids:/\n1:name=systemd:/user.slice\n0::/\n").cgroup()).isEqualTo("/user.slice");
        assertThat(of("0::/\n").cgroup()).isEqualTo("/");
        assertThat(of("0::" + "/a".repeat(1000) + "\n").cgroup()).hasSizeLessThanOrEqualTo(512);
    }

    /** The kernel writes the line of version 2 last. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        0::/system.slice/slurmstepd.scope/job_12/step_0/ | job 12 | NO
        0::/docker/{ID}/ | container | YES
        0::{USER}/ | nothing | NO
        0::/user.slice/ | nothing | UNKNOWN
        0::/system.slice/llm.service/ | nothing | UNKNOWN
        2:pids:/docker/{ID}/ | container | YES
        1:name=systemd:{USER}/a/ | nothing | UNKNOWN
        """)
    void usesTheFirstNamesOfAPathThatWasCutOff(String beginning, String expected, Ternary inContainerOfRoot) {
        var workload = of(expand(beginning) + "a/".repeat(2048));
        assertThat(describe(workload)).isEqualTo(expected);
        assertThat(workload.inContainerOfRoot()).isEqualTo(inContainerOfRoot);
    }

    @Test
    void isUnknownIfNothingWasRead() {
        assertThat(of("")).isEqualTo(Workload.UNKNOWN);
        for (var failure : Failure.values()) {
            assertThat(Workloads.of(Reading.failed(failure, ""))).isEqualTo(Workload.UNKNOWN);
        }
        assertThat(Workload.UNKNOWN.inContainerOfRoot()).isEqualTo(Ternary.UNKNOWN);
    }

    private static Workload of(String text) {
        var bytes = text.getBytes(UTF_8);
        return Workloads.of(
                Reading.of(Bytes.of(Arrays.copyOf(bytes, Math.min(bytes.length, ProcessFacts.LARGEST_CGROUP)))));
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
        var container = workload.container();
        if (container != null) {
            parts.add(container.id().equals(ID) ? "container" : "lxc " + container.id());
        }
        if (workload.pod() != null) {
            var pod = "pod " + workload.pod().uid().replace(UID, "UID").replace(STATIC, "STATIC");
            parts.add(container == null ? pod : parts.removeLast() + " in " + pod);
        }
        if (workload.slurmJob() != null) {
            parts.add("job " + workload.slurmJob().id());
        }
        return parts.isEmpty() ? "nothing" : String.join(", ", parts);
    }
}

package dev.genv.enforcer.observation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.Reading;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Whether a process is exempt by {@code /proc/PID/cgroup}; the prefixes are /slurm, /system.slice/slurmstepd.scope and /kubepods.slice. */
class ExemptCgroupsTest {
    /** The root of the service's cgroup namespace, the lines with a semicolon between them and a star for 4,096 characters, and the answer. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        /        | 0::/kubepods.slice                                    | exempt
        /        | 0::/kubepods.slice/kubepods-pod1.slice/c.scope        | exempt
        /        | 0::/kubepods.slice-of-alice                           | not
        /        | 0::/kubepods                                          | not
        /        | 0::/                                                  | not
        /        | 0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0 | exempt
        /        | 0::/system.slice/slurmd.service                       | not
        # what users can create
        /        | 0::/user.slice/user-5.slice/user@5.service/kubepods.slice | not
        /        | 0::/kubepods.slice/user@5.service/app.slice           | not
        /        | 0::/lxc.payload.c1/xCR0::/kubepods.slice               | not
        # version 1: only systemd's hierarchy counts, because a user can enter the cgroups of a step of Slurm in others
        /        | 9:freezer:/;1:name=systemd:/slurm/a                   | exempt
        /        | 9:freezer:/slurm/uid_5/job_7/step_0/x;1:name=systemd:/user.slice/user-5.slice/session-1.scope | not
        /        | 9:freezer:/slurm/uid_5/job_7/step_0/x;1:name=systemd:/system.slice/cron.service;0::/ | not
        /        | 9:memory:/;1:name=systemd:/user.slice/user-5.slice/session-1.scope;0::/ | not
        /        | 9:memory:/user/alice/0;1:name=systemd:/slurm/a        | not
        /        | 9:memory:/slurm/a                                     | perhaps
        # more than the service reads
        /        | 0::/kubepods.slice/*                                  | exempt
        /        | 0::/user.slice/user-5.slice/user@5.service/*          | not
        /        | 0::/kubepods.slice*                                   | perhaps
        /        | 9:memory:/;1:name=systemd:/user.slice/user-5.slice/user@5.service/* | not
        /        | 9:memory:/;1:name=systemd:/other/*                    | perhaps
        /        | 9:memory:/user/alice/*                                | not
        # another cgroup namespace
        /kubepods.slice/a/b | 0::/../../c/d                              | exempt
        /kubepods.slice/a/b | 0::/../../../system.slice/slurmstepd.scope/job_7 | exempt
        /kubepods.slice/a/b | 0::/../../../system.slice/x                | not
        /kubepods.slice/a/b | 0::/../../../..                            | perhaps
        /kubepods.slice/a/b | 9:memory:/slurm;0::/../../..               | not
        /kubepods.slice/a/b | 9:memory:/slurm                            | perhaps
        /        | 0::/../kubepods.slice                                 | perhaps
        ?        | 0::/kubepods.slice                                    | perhaps
        /        | ''                                                    | perhaps
        """)
    void place(String root, String lines, String expected) {
        var cgroups = new ExemptCgroups(
                List.of("/slurm", "/system.slice/slurmstepd.scope/", "/kubepods.slice"),
                List.of(),
                root.equals("?") ? Reading.failed(Reading.Failure.ABSENT, "") : Reading.of(root));
        var text = lines.isEmpty()
                ? ""
                : lines.replace(";", "\n").replace("CR", "\r").replace("*", "x".repeat(4096)) + "\n";
        var content = Bytes.of(text.substring(0, Math.min(text.length(), 4096)).getBytes(StandardCharsets.UTF_8));
        var immunity = cgroups.immunity(Reading.of(content));
        assertThat(immunity == null ? "not" : Boolean.TRUE.equals(immunity.isCertain()) ? "exempt" : "perhaps")
                .isEqualTo(expected);
    }
}

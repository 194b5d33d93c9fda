package dev.genv.enforcer.notification;

import static dev.genv.enforcer.notification.NoticeFixture.fleet;
import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.record.ViolationRecord.ActionNote.TargetAttachment;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.GpuProcess.Workload.Container;
import dev.genv.enforcer.model.GpuProcess.Workload.Pod;
import dev.genv.enforcer.model.GpuProcess.Workload.SlurmJob;
import dev.genv.enforcer.model.GpuProcess.Workload.WorkloadSource;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class UserDirectoryTest {
    private final UserDirectory users = new UserDirectory();

    /** Images often run as uid 1000, which can be that of any user of the machine. */
    @Test
    void uidInAContainerOfRootIsNoPersonUnlessItIsSubordinate() {
        users.update(fleet(
                new FakeHost(host("gpu-1").subordinate(1003, 100_000, 65_536)).setAccounts(Map.of("raz", 1003L))));
        var ofRoot = container(WorkloadSource.CGROUP);
        assertThat(isPerson(1003, ofRoot)).isFalse();
        assertThat(isPerson(100_007, ofRoot)).isTrue();
        assertThat(isPerson(1003, container(WorkloadSource.DELEGATED_CGROUP))).isTrue();
        assertThat(isPerson(1003, new Workload(null, null, new Pod("u"), null))).isFalse();
        assertThat(isPerson(1003, new Workload(null, null, null, new SlurmJob("7", WorkloadSource.CGROUP))))
                .isTrue();
        assertThat(isPerson(1003, null)).isTrue();
    }

    private boolean isPerson(long uid, @Nullable Workload workload) {
        return users.isPerson(
                Set.of("gpu-1"), process(812).uid(uid).workload(workload).build());
    }

    private static Workload container(WorkloadSource by) {
        return new Workload(null, new Container("0".repeat(64), "docker", by), null, null);
    }

    @Test
    void attachmentIsThatOfTheLivePidsOfItsEnvironment() {
        users.update(fleet(new FakeHost(host("gpu-1")
                .with(env("a").uid(1003).livePidsOf(1003), env("b").uid(1004), env("c").disputed("two owners")))));
        assertThat(users.ownersOf(new TargetAttachment("gpu-1", "a", 2))).containsExactly(1003L);
        assertThat(users.ownersOf(new TargetAttachment("gpu-1", "b", 2))).isEmpty();
        assertThat(users.ownersOf(new TargetAttachment("gpu-1", "c", 2))).isEmpty();
        assertThat(users.ownersOf(new TargetAttachment("gpu-1", "gone", 2))).isEmpty();
        assertThat(users.ownersOf(new TargetAttachment("gpu-2", "a", 2))).isEmpty();
    }

    /** The message of one person must not reach the other one. */
    @Test
    void ambiguousUidHasNoName() {
        users.update(fleet(
                machine("gpu-1", Map.of("raz", 1003L, "paul", 1004L, "toor", 0L, "root", 0L)),
                machine("gpu-2", Map.of("eve", 1003L, "paul", 1004L))));
        assertThat(users.nameOf(Set.of("gpu-1", "gpu-2"), 1003)).isEmpty();
        assertThat(users.nameOf(Set.of("gpu-1"), 0)).isEmpty();
        assertThat(users.nameOf(Set.of("gpu-1", "gpu-2"), 1004)).contains("paul");
    }

    @Test
    void updateForgetsFormerMachines() {
        users.update(fleet(machine("gpu-1", Map.of("raz", 1003L))));
        users.update(fleet());
        assertThat(users.nameOf(Set.of("gpu-1"), 1003)).isEmpty();
    }

    private static FakeHost machine(String name, Map<String, Long> accounts) {
        return new FakeHost(host(name)).setAccounts(accounts);
    }
}

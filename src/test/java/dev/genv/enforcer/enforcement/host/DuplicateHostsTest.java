package dev.genv.enforcer.enforcement.host;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.ObservationCollector.DuplicateHosts;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class DuplicateHostsTest {
    private final DuplicateHosts duplicateHosts = new DuplicateHosts();

    @Test
    void machineCountsOnceUnderItsFirstName() {
        var collapsed = duplicateHosts.collapse(
                List.of(reachable("gpu-1", "m1"), reachable("gpu-2", "m2"), reachable("alias", "m1")));
        assertThat(counted(collapsed)).containsExactly("gpu-1", "gpu-2");
        var alias = collapsed.getLast();
        assertThat(alias.host()).isEqualTo("alias");
        assertThat(alias.isComplete()).as("nothing of it is lacking").isTrue();
        assertThat(alias.problems()).singleElement().satisfies(problem -> {
            assertThat(problem.code()).isEqualTo(ProblemCode.DUPLICATE_HOST);
            assertThat(problem.detail()).contains("gpu-1");
        });
    }

    /** Otherwise its processes would be signalled twice, once under each name. */
    @Test
    void countedNameStaysTheSame() {
        assertThat(counted(duplicateHosts.collapse(List.of(unreachable("gpu-1"), reachable("alias", "m1")))))
                .containsExactly("alias");
        assertThat(counted(duplicateHosts.collapse(List.of(reachable("gpu-1", "m1"), reachable("alias", "m1")))))
                .containsExactly("alias");
        assertThat(counted(duplicateHosts.collapse(List.of(reachable("gpu-1", "m1"), unreachable("alias")))))
                .as("while the one that counts is out of sight, the other one does not take its place")
                .isEmpty();
        assertThat(duplicateHosts.collapse(List.of(reachable("gpu-1", "m1"), unreachable("alias"))))
                .as("and it does not count as completely observed")
                .noneMatch(Snapshot::isObservedCompletely);
    }

    @Test
    void unreachableDuplicateIsComplete() {
        duplicateHosts.collapse(List.of(reachable("gpu-1", "m1"), reachable("alias", "m1")));
        var collapsed = duplicateHosts.collapse(List.of(reachable("gpu-1", "m1"), unreachable("alias")));
        assertThat(collapsed.getLast().isComplete()).isTrue();
    }

    @Test
    void otherNameCountsWhenTheFirstIsRemoved() {
        duplicateHosts.collapse(List.of(reachable("gpu-1", "m1"), reachable("alias", "m1")));
        assertThat(counted(duplicateHosts.collapse(List.of(reachable("alias", "m1")))))
                .containsExactly("alias");
        assertThat(counted(duplicateHosts.collapse(List.of(reachable("gpu-1", "m1"), reachable("alias", "m1")))))
                .containsExactly("alias");
    }

    @Test
    void nameThatMovesToAnotherMachineCountsSeparately() {
        duplicateHosts.collapse(List.of(reachable("gpu-1", "m1"), reachable("alias", "m1")));
        assertThat(counted(duplicateHosts.collapse(List.of(reachable("gpu-1", "m1"), reachable("alias", "m3")))))
                .containsExactly("gpu-1", "alias");
        assertThat(counted(duplicateHosts.collapse(List.of(reachable("gpu-1", "m4"), reachable("alias", "m1")))))
                .containsExactly("gpu-1", "alias");
    }

    @Test
    void machinesWithoutMachineIdAllCount() {
        assertThat(counted(duplicateHosts.collapse(List.of(reachable("gpu-1", null), reachable("gpu-2", null)))))
                .containsExactly("gpu-1", "gpu-2");
    }

    /** It counts for nothing twice because some file could not be read once. */
    @Test
    void knownMachineIdIsRemembered() {
        duplicateHosts.collapse(List.of(reachable("gpu-1", "m1"), reachable("alias", "m1")));
        assertThat(counted(duplicateHosts.collapse(List.of(reachable("gpu-1", "m1"), reachable("alias", null)))))
                .containsExactly("gpu-1");
        assertThat(counted(duplicateHosts.collapse(List.of(reachable("gpu-1", null), reachable("alias", "m1")))))
                .containsExactly("gpu-1");
    }

    private static List<String> counted(List<Snapshot> collapsed) {
        return collapsed.stream()
                .filter(snapshot -> !snapshot.environments().isEmpty())
                .map(Snapshot::host)
                .toList();
    }

    private static Snapshot reachable(String name, @Nullable String machine) {
        return new FakeHost(host(name).with(env("a"))).setMachine(machine).observe();
    }

    private static Snapshot unreachable(String name) {
        return Snapshot.unseen(name, new Problem(ProblemCode.UNREACHABLE, "down"));
    }
}

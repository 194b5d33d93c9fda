package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.Snapshot;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class AliasesTest {
    private final Aliases aliases = new Aliases();

    @Test
    void aMachineCountsOnceUnderTheFirstOfItsNames() {
        var settled = aliases.settle(List.of(is("gpu-1", "m1"), is("gpu-2", "m2"), is("alias", "m1")));
        assertThat(counted(settled)).containsExactly("gpu-1", "gpu-2");
        var alias = settled.getLast();
        assertThat(alias.host()).isEqualTo("alias");
        assertThat(alias.isComplete()).as("nothing of it is lacking").isTrue();
        assertThat(alias.problems()).singleElement().satisfies(problem -> {
            assertThat(problem.code()).isEqualTo("duplicate_host");
            assertThat(problem.detail()).contains("gpu-1");
        });
    }

    /** Else its processes would be asked twice, once under each name. */
    @Test
    void theNameThatCountsStaysTheSame() {
        assertThat(counted(aliases.settle(List.of(unreachable("gpu-1"), is("alias", "m1")))))
                .containsExactly("alias");
        assertThat(counted(aliases.settle(List.of(is("gpu-1", "m1"), is("alias", "m1")))))
                .containsExactly("alias");
        assertThat(counted(aliases.settle(List.of(is("gpu-1", "m1"), unreachable("alias")))))
                .as("while the one that counts is out of sight, the other one does not take its place")
                .isEmpty();
        assertThat(aliases.settle(List.of(is("gpu-1", "m1"), unreachable("alias"))))
                .as("and nobody believes that all of it was seen")
                .noneMatch(HostReport::isComplete);
    }

    @Test
    void aDuplicateThatIsOutOfSightLacksNothing() {
        aliases.settle(List.of(is("gpu-1", "m1"), is("alias", "m1")));
        var settled = aliases.settle(List.of(is("gpu-1", "m1"), unreachable("alias")));
        assertThat(settled.getLast().snapshot().isComplete()).isTrue();
    }

    @Test
    void theOtherNameCountsOnceTheFirstIsNoLongerInTheList() {
        aliases.settle(List.of(is("gpu-1", "m1"), is("alias", "m1")));
        assertThat(counted(aliases.settle(List.of(is("alias", "m1"))))).containsExactly("alias");
        assertThat(counted(aliases.settle(List.of(is("gpu-1", "m1"), is("alias", "m1")))))
                .containsExactly("alias");
    }

    @Test
    void aNameThatLeadsToAnotherMachineNowCountsByItself() {
        aliases.settle(List.of(is("gpu-1", "m1"), is("alias", "m1")));
        assertThat(counted(aliases.settle(List.of(is("gpu-1", "m1"), is("alias", "m3")))))
                .containsExactly("gpu-1", "alias");
        assertThat(counted(aliases.settle(List.of(is("gpu-1", "m4"), is("alias", "m1")))))
                .containsExactly("gpu-1", "alias");
    }

    @Test
    void machinesThatCannotBeToldApartAllCount() {
        assertThat(counted(aliases.settle(List.of(is("gpu-1", null), is("gpu-2", null)))))
                .containsExactly("gpu-1", "gpu-2");
    }

    /** It counts for nothing twice because some file could not be read once. */
    @Test
    void whatWasOnceKnownOfAMachineHolds() {
        aliases.settle(List.of(is("gpu-1", "m1"), is("alias", "m1")));
        assertThat(counted(aliases.settle(List.of(is("gpu-1", "m1"), is("alias", null)))))
                .containsExactly("gpu-1");
        assertThat(counted(aliases.settle(List.of(is("gpu-1", null), is("alias", "m1")))))
                .containsExactly("gpu-1");
    }

    private static List<String> counted(List<HostReport> settled) {
        return settled.stream()
                .filter(report -> !report.snapshot().environments().isEmpty())
                .map(HostReport::host)
                .toList();
    }

    private static HostReport is(String name, @Nullable String machine) {
        var snapshot = host(name).with(env("a")).snapshot();
        return new HostReport(
                snapshot,
                true,
                Instant.EPOCH,
                Duration.ZERO,
                "fake",
                null,
                snapshot.problems(),
                1,
                Set.of(),
                List.of(),
                null,
                machine,
                null,
                null);
    }

    private static HostReport unreachable(String name) {
        return HostReport.unreachable(Snapshot.unseen(name, new Problem("unreachable", "down")), null, Duration.ZERO);
    }
}

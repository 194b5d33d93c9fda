package dev.genv.enforcer.enforcement.record;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.id;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Which entries the registry has, and in which order it finds them. */
class ViolationRegistryTest extends RegistryFixture {
    @Test
    void continuingViolationKeepsItsEntry() {
        observeViolations(strayOn("gpu-1", 1));
        var id = all().getFirst().id();
        now = now.plusSeconds(10);
        var update = observeViolations(strayOn("gpu-1", 1));

        assertThat(update.appeared()).isEmpty();
        assertThat(all()).singleElement().satisfies(entry -> {
            assertThat(entry.id()).isEqualTo(id);
            assertThat(entry.cycles()).isEqualTo(2);
            assertThat(entry.firstSeen()).isEqualTo(START);
            assertThat(entry.lastSeen()).isEqualTo(now);
        });
        assertThat(registry.find(id)).isPresent();
        assertThat(registry.find("another")).isEmpty();
    }

    @Test
    void clockSetBackKeepsTheOrderAndHidesNoViolation() {
        observeViolations(strayOn("gpu-1", 1), strayOn("gpu-1", 2));
        now = START.minusSeconds(3600);
        observeViolations(strayOn("gpu-1", 1), strayOn("gpu-1", 3));

        assertThat(all())
                .extracting(entry -> entry.violation().processes().getFirst().pid())
                .as("newest first")
                .first()
                .isEqualTo(3);
        assertThat(all()).allSatisfy(entry -> {
            assertThat(entry.lastSeen()).isAfterOrEqualTo(entry.firstSeen());
            assertThat(entry.recency().latest())
                    .as("what is asked for since then is found")
                    .isEqualTo(START);
        });
    }

    @Test
    void usesTheClockAgainAfterItWasFarAhead() {
        now = START.plusSeconds(31_536_000);
        observeViolations(strayOn("gpu-1", 1));
        now = START;
        observeViolations(strayOn("gpu-1", 2));

        assertThat(all().getFirst().firstSeen()).isEqualTo(START);
        assertThat(all().getFirst().lastSeen()).isEqualTo(START);
    }

    @Test
    void violationThatReturnsGetsANewEntry() {
        observeViolations(strayOn("gpu-1", 1));
        observeViolations();
        observeViolations(strayOn("gpu-1", 1));

        assertThat(all()).extracting(ViolationRecord::active).containsExactlyInAnyOrder(true, false);
        assertThat(all()).extracting(ViolationRecord::id).doesNotHaveDuplicates();
    }

    @Test
    void findReturnsNewestFirstUpToTheLimit() {
        observeViolations(strayOn("gpu-1", 1));
        now = now.plusSeconds(1);
        observeViolations(strayOn("gpu-1", 1), strayOn("gpu-1", 2));

        assertThat(all()).extracting(ViolationRegistryTest::pid).containsExactly(2, 1);
        assertThat(registry.find(entry -> true, 1))
                .extracting(ViolationRegistryTest::pid)
                .containsExactly(2);
    }

    @Test
    void quotaThatMovesToAnotherHostKeepsItsEntry() {
        for (var host : List.of("gpu-1", "gpu-2")) {
            observeViolations(quota(host));
        }
        assertThat(all()).hasSize(1);
    }
}

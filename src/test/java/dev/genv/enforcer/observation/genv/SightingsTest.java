package dev.genv.enforcer.observation.genv;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.ProcessId;
import java.util.List;
import org.junit.jupiter.api.Test;

class SightingsTest {
    private final Sightings sightings = new Sightings();

    @Test
    void processKeepsItsIdWhileItIsObserved() {
        sightings.see(List.of(5));
        var first = sightings.idOf(5);
        sightings.see(List.of(5, 6));
        assertThat(sightings.idOf(5)).isEqualTo(first).isEqualTo(new ProcessId(5, 0));
        assertThat(sightings.idOf(6)).isEqualTo(new ProcessId(6, 1));
        assertThat(sightings.isGone(first)).isFalse();
    }

    /** The enforcer compares it with the last observation without the environment. */
    @Test
    void startTimeIsOrderedByFirstObservation() {
        sightings.see(List.of(5));
        var observation = sightings.observations();
        assertThat(sightings.idOf(5).startTime()).isLessThan(observation);
        sightings.see(List.of(5, 6));
        assertThat(sightings.idOf(6).startTime()).isGreaterThanOrEqualTo(observation);
    }

    @Test
    void processAbsentFromOneObservationIsNotGone() {
        sightings.see(List.of(5));
        var process = sightings.idOf(5);
        sightings.see(List.of());
        assertThat(sightings.isGone(process)).isFalse();
        sightings.see(List.of(5));
        assertThat(sightings.idOf(5)).isEqualTo(process);
    }

    @Test
    void processReturningAfterTwoObservationsIsAnotherOne() {
        sightings.see(List.of(5));
        var process = sightings.idOf(5);
        sightings.see(List.of());
        sightings.see(List.of());
        assertThat(sightings.isGone(process)).isTrue();
        sightings.see(List.of(5));
        assertThat(sightings.idOf(5)).isNotEqualTo(process);
        assertThat(sightings.isGone(process)).isTrue();
        assertThat(sightings.isGone(sightings.idOf(5))).isFalse();
    }

    @Test
    void processNeverObservedIsGone() {
        assertThat(sightings.isGone(new ProcessId(5, 0))).isTrue();
    }
}

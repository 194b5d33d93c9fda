package dev.genv.enforcer.observation.process;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class IdentityFlappingTest {
    private final IdentityFlapping flapping = new IdentityFlapping();

    private boolean changes() {
        var checked = process(1).inEnvironment("a").build();
        return flapping.isOther(checked, checked.uid(), IdentityFlapping.Comparison.OTHER);
    }

    private void observe(int times) {
        for (var i = 0; i < times; i++) {
            flapping.recordObservation();
        }
    }

    @Test
    void changesInEveryObservationProtectTwice() {
        assertThat(changes()).isTrue();
        observe(1);
        assertThat(changes()).isTrue();
        observe(1);
        assertThat(changes()).isFalse();
        observe(6);
        assertThat(changes()).isFalse();
    }

    /** A program that executes others in turn can be caught twice in its life by chance. */
    @Test
    void changesThatAreLongAgoDoNotCount() {
        changes();
        changes();
        observe(7);
        assertThat(changes()).isTrue();
    }
}

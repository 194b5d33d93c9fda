package dev.genv.enforcer.enforcement;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** For how long a violation was observed. Times are seconds. */
class ClocksTest {
    private static final long ALICE = 1003;
    private static final long BOB = 1004;
    private static final Clocks.Key KEY = new Clocks.Key("here", "env-devices", "process 1 5");

    private Clocks<Clocks.Key> clocks = new Clocks<>(Duration.ofHours(1));

    @Test
    void savedFormStaysTheSameWhileTheViolationIsObserved() {
        run(0, Map.of(KEY, ALICE));
        var saved = clocks.all();
        run(10, Map.of(KEY, ALICE));
        assertThat(clocks.all()).isEqualTo(saved);

        clocks = new Clocks<>(Duration.ofHours(1));
        clocks.restore(saved);
        assertThat(elapsed(20)).isEqualTo(20);
    }

    /** Users choose how many violations there are. */
    @Test
    void userWithTheMostStoppedClocksLosesTheFirstOnes() {
        var running = new Clocks.Key("here", "env-devices", "process 2 5");
        run(0, Map.of(KEY, BOB, running, ALICE));
        run(10, Map.of(running, ALICE));
        for (var cycle = 0; cycle < 3; cycle++) {
            var many = new HashMap<Clocks.Key, @Nullable Long>(Map.of(running, ALICE));
            for (var number = 0; number < 4_000; number++) {
                many.put(new Clocks.Key("here", "env-devices", cycle + " " + number), ALICE);
            }
            run(20 + 10 * cycle, many);
        }
        run(60, Map.of(running, ALICE));
        assertThat(clocks.all()).hasSize(Clocks.MAX_STOPPED + 1).containsKey(running);
        assertThat(elapsed(60)).isEqualTo(10);
        assertThat(clocks.all().keySet())
                .filteredOn(
                        key -> key.subject().startsWith("1 ") || key.subject().startsWith("2 "))
                .as("those that were stopped last")
                .hasSize(8_000);
    }

    private void run(long second, Map<Clocks.Key, @Nullable Long> inForce) {
        clocks.run(inForce, nanos(second));
    }

    private long elapsed(long second) {
        return clocks.elapsed(KEY, nanos(second)).toSeconds();
    }

    private static long nanos(long second) {
        return Duration.ofSeconds(second).toNanos();
    }
}

package dev.genv.enforcer.notification;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.notification.Delivery.RetryDelay;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RetryDelayTest {
    private static final Duration SHORTEST = Duration.ofSeconds(5);
    private static final Duration LONGEST = Duration.ofHours(1);

    @Test
    void doublesFromTheShortestToTheLongest() {
        RandomGenerator lowest = () -> 0;
        var delays = new RetryDelay(SHORTEST, LONGEST, lowest);
        assertThat(IntStream.rangeClosed(1, 12)
                        .mapToObj(delays::after)
                        .map(Duration::toSeconds)
                        .toList())
                .isEqualTo(List.of(5L, 10L, 20L, 40L, 80L, 160L, 320L, 640L, 1280L, 2560L, 3600L, 3600L));
    }

    @Test
    void staysWithinTheLimitsForAnyNumberOfFailures() {
        var delays = new RetryDelay(SHORTEST, LONGEST, new Random(1));
        for (var failures = 1; failures < 100_000; failures += 7) {
            assertThat(delays.after(failures)).isBetween(SHORTEST, LONGEST);
        }
    }

    @ParameterizedTest
    @CsvSource({"3, 20, 24", "20, 2880, 3600"})
    void differsFromNodeToNode(int failures, int shortest, int longest) {
        var delays = new RetryDelay(SHORTEST, LONGEST, new Random(1));
        assertThat(IntStream.range(0, 100).mapToObj(_ -> delays.after(failures)).distinct())
                .hasSizeGreaterThan(50)
                .allSatisfy(delay ->
                        assertThat(delay).isBetween(Duration.ofSeconds(shortest), Duration.ofSeconds(longest)));
    }
}

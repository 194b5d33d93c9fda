package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.ssh.SshConnection.BackOff;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class BackOffTest {
    private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 5);
    private final BackOff backOff = new BackOff(nanos::get, new Random(7));

    @Test
    void doublesTheDelayUpToOneMinute() {
        var backoff = IntStream.range(0, 1_000).mapToLong(_ -> delayMillis()).toArray();

        for (var i = 0; i < backoff.length; i++) {
            var longest = i < 6 ? 1_000L << i : 60_000;
            assertThat(backoff[i]).as("the pause %d", i).isBetween(longest / 2, longest + 1);
        }
    }

    @Test
    void randomizesTheDelay() {
        IntStream.range(0, 10).forEach(_ -> delayMillis());

        assertThat(IntStream.range(0, 50)
                        .mapToLong(_ -> delayMillis())
                        .distinct()
                        .count())
                .isGreaterThan(40);
    }

    /** Checks a pause in milliseconds, which is over afterwards. */
    private long delayMillis() {
        backOff.failed(new UnreachableException(ProblemCode.TIMEOUT, "x"));
        var least = 0L;
        var most = 120_000L;
        var begin = nanos.get();
        while (least < most) {
            var middle = (least + most) / 2;
            nanos.set(begin + Duration.ofMillis(middle).toNanos());
            if (catchThrowableOfType(UnreachableException.class, backOff::check) == null) {
                most = middle;
            } else {
                least = middle + 1;
            }
        }
        nanos.set(begin + Duration.ofMillis(most).toNanos());
        return most;
    }
}

package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
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
    void allowsTheFirstAttempt() {
        assertThatCode(backOff::check).doesNotThrowAnyException();
    }

    @Test
    void reportsTheLastFailureAndTheTimeOfTheNextAttempt() {
        backOff.failed(new UnreachableException(ProblemCode.HOST_UNREACHABLE, "nobody there"));
        backOff.failed(new UnreachableException(ProblemCode.TIMEOUT, "too slow"));

        var thrown = catchThrowableOfType(UnreachableException.class, backOff::check);
        assertThat(thrown.code()).isEqualTo(ProblemCode.TIMEOUT);
        assertThat(thrown).hasMessageMatching("too slow; next try in [12] s");
    }

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

    @Test
    void resetsTheDelayAfterASuccess() {
        IntStream.range(0, 10).forEach(_ -> delayMillis());
        backOff.reset();

        assertThatCode(backOff::check).doesNotThrowAnyException();
        assertThat(delayMillis()).isLessThanOrEqualTo(1_001);
    }

    @Test
    void delaysAfterTwoInterruptionsInARow() {
        var stumble = new UnreachableException(ProblemCode.CONNECTION_LOST, "lost");
        backOff.interrupted(stumble);
        assertThatCode(backOff::check).doesNotThrowAnyException();
        backOff.reset();
        backOff.interrupted(stumble);
        assertThatCode(backOff::check).doesNotThrowAnyException();

        backOff.interrupted(stumble);

        assertThat(catchThrowableOfType(UnreachableException.class, backOff::check))
                .isNotNull();
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

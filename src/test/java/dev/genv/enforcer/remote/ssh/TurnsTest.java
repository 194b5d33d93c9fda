package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

class TurnsTest {
    private static final Duration LONG = Duration.ofMinutes(10);

    @Test
    void oneMoreThanThereAreWaitsUntilAnotherIsOver() throws Exception {
        var turns = new Turns(2, LONG);
        var first = turns.take(soon());
        turns.take(soon());
        var third = new FutureTask<>(() -> turns.take(Deadline.in(LONG)));
        var thread = Thread.ofVirtual().start(third);
        await().until(() -> thread.getState() == Thread.State.TIMED_WAITING);

        first.close();

        assertThat(third.get()).isNotNull();
        assertNoneIsLeft(turns);
    }

    @Test
    void noneIsWaitedForLongerThanOneLikes() throws Exception {
        var turns = new Turns(1, LONG);
        turns.take(soon());

        assertNoneIsLeft(turns);
    }

    @Test
    void oneThatHangsEndsByItself() throws Exception {
        var turns = new Turns(1, Duration.ofMillis(20));
        for (var i = 0; i < 5; i++) {
            assertThat(turns.take(Deadline.in(LONG))).isNotNull();
        }
    }

    @Test
    void oneThatIsGivenBackTwiceIsStillOne() throws Exception {
        var turns = new Turns(1, LONG);
        var turn = turns.take(soon());
        turn.close();
        turn.close();

        turns.take(Deadline.in(LONG));
        assertNoneIsLeft(turns);
    }

    private static void assertNoneIsLeft(Turns turns) {
        assertThatThrownBy(() -> turns.take(soon())).isInstanceOf(TimeoutException.class);
    }

    private static Deadline soon() {
        return Deadline.in(Duration.ofMillis(20));
    }
}

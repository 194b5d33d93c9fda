package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.remote.ssh.SshAccess.ConnectPermits;
import java.time.Duration;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

class ConnectPermitsTest {
    private static final Duration LONG_TIMEOUT = Duration.ofMinutes(10);

    @Test
    void waitsForAPermitUntilOneIsReleased() throws Exception {
        var permits = new ConnectPermits(2, LONG_TIMEOUT);
        var first = permits.acquire(soon());
        permits.acquire(soon());
        var third = new FutureTask<>(() -> permits.acquire(Deadline.in(LONG_TIMEOUT)));
        var thread = Thread.ofVirtual().start(third);
        await().until(() -> thread.getState() == Thread.State.TIMED_WAITING);

        first.run();

        assertThat(third.get()).isNotNull();
        assertNoPermitIsFree(permits);
    }

    @Test
    void permitExpiresWhenItsHolderHangs() throws Exception {
        var permits = new ConnectPermits(1, Duration.ofMillis(20));
        for (var i = 0; i < 5; i++) {
            assertThat(permits.acquire(Deadline.in(LONG_TIMEOUT))).isNotNull();
        }
    }

    @Test
    void releasingAPermitTwiceFreesOnlyOne() throws Exception {
        var permits = new ConnectPermits(1, LONG_TIMEOUT);
        var permit = permits.acquire(soon());
        permit.run();
        permit.run();

        permits.acquire(Deadline.in(LONG_TIMEOUT));
        assertNoPermitIsFree(permits);
    }

    private static void assertNoPermitIsFree(ConnectPermits permits) {
        assertThatThrownBy(() -> permits.acquire(soon())).isInstanceOf(TimeoutException.class);
    }

    private static Deadline soon() {
        return Deadline.in(Duration.ofMillis(20));
    }
}

package dev.genv.enforcer.enforcement.host;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.enforcement.host.HostWorker.Kind;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

class HostWorkerTest {
    private static final Duration LONG = HANG;
    private final HostWorker worker =
            new HostWorker(new FakeHost(host("gpu-1")), HostWorkers.threads(false), Ticker.ofSystem());

    /** A cycle acts as soon as it has looked. */
    @RepeatedTest(20)
    void acceptsWorkAsSoonAsTheResultIsReturned() throws Exception {
        for (var i = 0; i < 500; i++) {
            assertThat(worker.start(Kind.OBSERVE, () -> 1).await(LONG, true)).isEqualTo(1);
        }
    }

    /** On a machine with one CPU there is one carrier thread, and a computation on it would block all others. */
    @Test
    void runsOnADaemonPlatformThread() throws Exception {
        assertThat(worker.start(Kind.OBSERVE, () -> Thread.currentThread().isVirtual())
                        .await(LONG, true))
                .isFalse();
        assertThat(worker.start(Kind.OBSERVE, () -> Thread.currentThread().isDaemon())
                        .await(LONG, true))
                .as("nor does it keep the service from ending")
                .isTrue();
    }

    /** Users can start as many processes as the machine allows. */
    @Test
    void acceptsWorkAfterTheMachineAllowedNoThread() throws Exception {
        var attempts = new AtomicInteger();
        var threads = HostWorkers.threads(false);
        var starved = new HostWorker(
                new FakeHost(host("gpu-1")),
                task -> {
                    if (attempts.getAndIncrement() == 0) {
                        throw new OutOfMemoryError("unable to create native thread");
                    }
                    threads.execute(task);
                },
                Ticker.ofSystem());
        assertThatThrownBy(() -> starved.start(Kind.OBSERVE, () -> 1).await(LONG, true))
                .isInstanceOf(UnreachableException.class)
                .hasMessage("not started: unable to create native thread");
        assertThat(starved.start(Kind.OBSERVE, () -> 2).await(LONG, true)).isEqualTo(2);
    }
}

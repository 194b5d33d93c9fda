package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.net.InetAddress;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class LookupTest {
    private static final InetAddress HERE = InetAddress.ofLiteral("127.0.0.2");
    private static final Duration SHORT = Duration.ofMillis(300);

    private final CountDownLatch answered = new CountDownLatch(1);
    private final AtomicInteger asked = new AtomicInteger();
    private volatile boolean silent;
    private final Lookup lookup = new Lookup(name -> {
        asked.incrementAndGet();
        if (silent || name.startsWith("dead")) {
            hang();
        }
        if (name.equals("nobody")) {
            throw new UnknownHostException(name);
        }
        return new InetAddress[] {HERE};
    });

    @AfterEach
    void answer() {
        answered.countDown();
    }

    @Test
    void anAddressIsItsOwn() throws Exception {
        assertThat(ask("127.0.0.2")).containsExactly(HERE);
        assertThat(ask("::1")).containsExactly(InetAddress.ofLiteral("::1"));
        assertThat(asked).hasValue(0);
    }

    @Test
    void aNameIsAskedForEachTime() throws Exception {
        assertThat(ask("gpu-1")).containsExactly(HERE);
        assertThat(ask("gpu-1")).containsExactly(HERE);
        assertThat(asked).hasValue(2);
    }

    @Test
    void nobodyHasNone() {
        assertThatThrownBy(() -> ask("nobody")).isInstanceOf(UnknownHostException.class);
        assertThatThrownBy(() -> ask("nobody")).isInstanceOf(UnknownHostException.class);
        assertThat(asked).hasValue(2);
    }

    @Test
    void theLastAddressServesWhereNobodySaysItSoon() throws Exception {
        ask("gpu-1");
        silent = true;

        assertThat(lookup.addresses("gpu-1", Deadline.in(SHORT))).containsExactly(HERE);
        assertThatThrownBy(() -> lookup.addresses("gpu-2", Deadline.in(SHORT)))
                .isInstanceOf(SocketTimeoutException.class);
    }

    @Test
    void oneQuestionServesAllWhoWaitForIt() throws Exception {
        var tasks = IntStream.range(0, 100)
                .mapToObj(_ -> new FutureTask<>(() -> ask("dead-1")))
                .toList();
        var threads = tasks.stream().map(Thread::startVirtualThread).toList();
        await().until(() -> threads.stream().allMatch(each -> each.getState() == Thread.State.TIMED_WAITING));

        answered.countDown();

        for (var each : tasks) {
            assertThat(each.get()).containsExactly(HERE);
        }
        assertThat(asked).hasValue(1);
    }

    @Test
    void namesThatNobodyAnswersForDoNotKeepTheOthersWaiting() throws Exception {
        for (var round = 0; round < 2; round++) {
            for (var i = 0; i < 60; i++) {
                var name = "dead-" + i;
                assertThatThrownBy(() -> lookup.addresses(name, Deadline.in(Duration.ofMillis(1))))
                        .isInstanceOf(SocketTimeoutException.class);
            }
        }
        assertThat(ask("gpu-1")).containsExactly(HERE);
    }

    @Test
    void whatNobodyWaitsForAnyLongerIsNotAsked() throws Exception {
        for (var i = 0; i < 64; i++) {
            var name = "dead-" + i;
            Thread.startVirtualThread(new FutureTask<>(() -> ask(name)));
        }
        await().until(() -> asked.get() == 64);
        var soon = Deadline.in(Duration.ofMillis(5));
        assertThatThrownBy(() -> lookup.addresses("gpu-1", soon)).isInstanceOf(SocketTimeoutException.class);
        await().until(() -> soon.left().isZero());

        answered.countDown();

        assertThat(ask("gpu-2")).containsExactly(HERE);
        assertThat(asked).hasValue(65);
    }

    private List<InetAddress> ask(String name) throws Exception {
        return lookup.addresses(name, Deadline.in(Fleet.PATIENCE));
    }

    private void hang() {
        try {
            answered.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}

package dev.genv.enforcer.remote.ssh.transport.socket;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.remote.ssh.TestFleet;
import dev.genv.enforcer.remote.ssh.transport.time.Deadline;
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

class AddressResolverTest {
    private static final InetAddress ADDRESS = InetAddress.ofLiteral("127.0.0.2");
    private static final Duration SHORT_TIMEOUT = Duration.ofMillis(300);

    private final CountDownLatch answered = new CountDownLatch(1);
    private final AtomicInteger lookups = new AtomicInteger();
    private volatile boolean hangs;
    private final AddressResolver resolver = new AddressResolver(name -> {
        lookups.incrementAndGet();
        if (hangs || name.startsWith("dead")) {
            hang();
        }
        if (name.equals("nobody")) {
            throw new UnknownHostException(name);
        }
        return new InetAddress[] {ADDRESS};
    });

    @AfterEach
    void releaseLookups() {
        answered.countDown();
    }

    @Test
    void addressNeedsNoLookup() throws Exception {
        assertThat(resolve("127.0.0.2")).containsExactly(ADDRESS);
        assertThat(resolve("::1")).containsExactly(InetAddress.ofLiteral("::1"));
        assertThat(lookups).hasValue(0);
    }

    @Test
    void resolvesTheNameAtEveryConnection() throws Exception {
        assertThat(resolve("gpu-1")).containsExactly(ADDRESS);
        assertThat(resolve("gpu-1")).containsExactly(ADDRESS);
        assertThat(lookups).hasValue(2);
    }

    @Test
    void unknownNameFailsAtEveryLookup() {
        assertThatThrownBy(() -> resolve("nobody")).isInstanceOf(UnknownHostException.class);
        assertThatThrownBy(() -> resolve("nobody")).isInstanceOf(UnknownHostException.class);
        assertThat(lookups).hasValue(2);
    }

    @Test
    void usesTheLastAddressWhenTheLookupIsSlow() throws Exception {
        resolve("gpu-1");
        hangs = true;

        assertThat(resolver.addresses("gpu-1", Deadline.in(SHORT_TIMEOUT))).containsExactly(ADDRESS);
        assertThatThrownBy(() -> resolver.addresses("gpu-2", Deadline.in(SHORT_TIMEOUT)))
                .isInstanceOf(SocketTimeoutException.class);
    }

    @Test
    void concurrentCallersShareOneLookup() throws Exception {
        var tasks = IntStream.range(0, 100)
                .mapToObj(_ -> new FutureTask<>(() -> resolve("dead-1")))
                .toList();
        var threads = tasks.stream().map(Thread::startVirtualThread).toList();
        await().until(() -> threads.stream().allMatch(each -> each.getState() == Thread.State.TIMED_WAITING));

        answered.countDown();

        for (var each : tasks) {
            assertThat(each.get()).containsExactly(ADDRESS);
        }
        assertThat(lookups).hasValue(1);
    }

    @Test
    void hangingLookupsDoNotDelayOtherNames() throws Exception {
        for (var round = 0; round < 2; round++) {
            for (var i = 0; i < 60; i++) {
                var name = "dead-" + i;
                assertThatThrownBy(() -> resolver.addresses(name, Deadline.in(Duration.ofMillis(1))))
                        .isInstanceOf(SocketTimeoutException.class);
            }
        }
        assertThat(resolve("gpu-1")).containsExactly(ADDRESS);
    }

    @Test
    void skipsQueuedLookupAfterItsDeadline() throws Exception {
        for (var i = 0; i < 64; i++) {
            var name = "dead-" + i;
            Thread.startVirtualThread(new FutureTask<>(() -> resolve(name)));
        }
        await().until(() -> lookups.get() == 64);
        var soon = Deadline.in(Duration.ofMillis(5));
        assertThatThrownBy(() -> resolver.addresses("gpu-1", soon)).isInstanceOf(SocketTimeoutException.class);
        await().until(() -> soon.remaining().isZero());

        answered.countDown();

        assertThat(resolve("gpu-2")).containsExactly(ADDRESS);
        assertThat(lookups).hasValue(65);
    }

    private List<InetAddress> resolve(String name) throws Exception {
        return resolver.addresses(name, Deadline.in(TestFleet.LONG_TIMEOUT));
    }

    private void hang() {
        try {
            answered.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}

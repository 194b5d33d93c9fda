package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.jcraft.jsch.Channel;
import com.jcraft.jsch.ChannelExec;
import com.jcraft.jsch.JSch;
import dev.genv.enforcer.remote.ssh.SshAccess.ConnectPermits;
import dev.genv.enforcer.remote.ssh.Transport.Lookups;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import jdk.net.ExtendedSocketOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TransportTest {
    private final Transport transport = new Transport(new Lookups(InetAddress::getAllByName), 2, Deadline.in(HANG));

    @Test
    void acceptsTheAllowanceOfEachHop() throws Exception {
        receive(2 * Transport.ALLOWANCE);

        assertThat(transport.isExceeded()).isFalse();
        assertThatThrownBy(() -> receive(1)).isInstanceOf(IOException.class).hasMessageContaining("too much data");
        assertThat(transport.isExceeded()).isTrue();
        var closed = new AtomicInteger();
        transport.register(closed::incrementAndGet);
        assertThat(closed).hasValue(1);
    }

    @Test
    void acceptsWhatIsExpectedOnceAndForgetsTheRest() throws Exception {
        transport.expect(1_000_000);
        receive(1_000_000);
        receive(2 * Transport.ALLOWANCE);
        transport.expect(1_000_000);
        transport.expect(0);
        receive(2 * Transport.ALLOWANCE);

        assertThatThrownBy(() -> receive(1)).isInstanceOf(IOException.class);
    }

    @Test
    void closesWhatIsRegisteredBeforeAndAfterTheClose() {
        var closes = new AtomicInteger();
        transport.register(() -> {
            closes.incrementAndGet();
            throw new IOException("the next resource is closed despite this");
        });
        transport.register(closes::incrementAndGet);

        transport.close();
        assertThat(closes).hasValue(2);

        transport.register(closes::incrementAndGet);
        assertThat(closes).hasValue(3);
    }

    private void receive(int bytes) throws IOException {
        transport.count(new ByteArrayInputStream(new byte[bytes])).readNBytes(bytes);
    }

    @Test
    void closeEndsPendingReads() throws Exception {
        var proxy = new JumpProxy(new JSch().getSession("root", "gpu-1"), transport);
        var read = new FutureTask<>(() -> proxy.getInputStream().read());
        var thread = Thread.ofVirtual().start(read);
        await().until(() -> thread.getState() == Thread.State.WAITING);

        transport.close();

        assertThat(thread.join(HANG)).isTrue();
    }

    @Test
    void enablesTcpKeepAlive() throws Exception {
        var transport = transport(new Lookups(InetAddress::getAllByName), HANG);
        try (var server = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.9"));
                var socket = transport.createSocket("127.0.0.9", server.getLocalPort())) {
            assertThat(socket.getOption(StandardSocketOptions.SO_KEEPALIVE)).isTrue();
            assertThat(socket.getOption(ExtendedSocketOptions.TCP_KEEPIDLE)).isEqualTo(15);
            assertThat(socket.getOption(ExtendedSocketOptions.TCP_KEEPINTERVAL)).isEqualTo(15);
            assertThat(socket.getOption(ExtendedSocketOptions.TCP_KEEPCOUNT)).isEqualTo(2);
            socket.setSoTimeout(5_000);
            transport.readWithoutLimit();
            assertThat(socket.getSoTimeout()).isZero();
        }
    }

    @Test
    void hangingLookupsDelayNoAddressAndNoOtherName() throws Exception {
        var never = new CountDownLatch(1);
        Lookups.Names names = name -> {
            if (name.startsWith("dead")) {
                awaitEnd(never);
            }
            return new InetAddress[] {InetAddress.ofLiteral("127.0.0.9")};
        };
        var lookups = new Lookups(names);
        try (var server = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.9"))) {
            for (var i = 0; i < 120; i++) {
                var name = "dead-" + i % 60;
                assertThatThrownBy(() ->
                                transport(lookups, Duration.ofMillis(1)).createSocket(name, server.getLocalPort()))
                        .isInstanceOf(SocketTimeoutException.class);
            }
            for (var name : List.of("127.0.0.9", "gpu-1")) {
                transport(lookups, HANG)
                        .createSocket(name, server.getLocalPort())
                        .close();
            }
        } finally {
            never.countDown();
        }
    }

    private static void awaitEnd(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Transport transport(Lookups lookups, Duration timeout) {
        return new Transport(lookups, 1, Deadline.in(timeout));
    }

    @Test
    void waitsForAPermitUntilOneIsReleased() throws Exception {
        var permits = new ConnectPermits(2, HANG);
        var first = permits.acquire(soon());
        permits.acquire(soon());
        var third = new FutureTask<>(() -> permits.acquire(Deadline.in(HANG)));
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
            assertThat(permits.acquire(Deadline.in(HANG))).isNotNull();
        }
    }

    @Test
    void releasingAPermitTwiceFreesOnlyOne() throws Exception {
        var permits = new ConnectPermits(1, HANG);
        var permit = permits.acquire(soon());
        permit.run();
        permit.run();

        permits.acquire(Deadline.in(HANG));
        assertNoPermitIsFree(permits);
    }

    private static void assertNoPermitIsFree(ConnectPermits permits) {
        assertThatThrownBy(() -> permits.acquire(soon())).isInstanceOf(TimeoutException.class);
    }

    private static Deadline soon() {
        return Deadline.in(Duration.ofMillis(20));
    }

    /**
     * Private fields may change their meaning. Before this version is changed, compare in JSch's Channel and Session: the buffer of
     * an output has {@code rmpsize} bytes, and {@code open_confirmation} is true once the server has opened the channel.
     */
    @Test
    void fieldsBelongToThisVersionOfJsch() {
        assertThat(JSch.VERSION).isEqualTo("2.28.8");
    }

    @ParameterizedTest
    @CsvSource({"100, 100", "32768, 32768", "32769, 32768", "2147483647, 32768", "-1, 0"})
    void isLimitedToTheAllowedRange(int wanted, int limited) throws Exception {
        var field = Channel.class.getDeclaredField("rmpsize");
        field.setAccessible(true);
        var channel = new ChannelExec();
        field.setInt(channel, wanted);

        PacketSizeLimit.limit(channel);

        assertThat(field.getInt(channel)).isEqualTo(limited);
    }
}

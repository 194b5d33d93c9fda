package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import jdk.net.ExtendedSocketOptions;
import org.junit.jupiter.api.Test;

class DirectSocketsTest {
    @Test
    void enablesTcpKeepAlive() throws Exception {
        var sockets = sockets(new DirectSockets.Lookups(InetAddress::getAllByName), HANG);
        try (var server = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.9"));
                var socket = sockets.createSocket("127.0.0.9", server.getLocalPort())) {
            assertThat(socket.getOption(StandardSocketOptions.SO_KEEPALIVE)).isTrue();
            assertThat(socket.getOption(ExtendedSocketOptions.TCP_KEEPIDLE)).isEqualTo(15);
            assertThat(socket.getOption(ExtendedSocketOptions.TCP_KEEPINTERVAL)).isEqualTo(15);
            assertThat(socket.getOption(ExtendedSocketOptions.TCP_KEEPCOUNT)).isEqualTo(2);
            socket.setSoTimeout(5_000);
            sockets.readWithoutLimit();
            assertThat(socket.getSoTimeout()).isZero();
        }
    }

    @Test
    void hangingLookupsDelayNoAddressAndNoOtherName() throws Exception {
        var never = new CountDownLatch(1);
        DirectSockets.Names names = name -> {
            if (name.startsWith("dead")) {
                awaitEnd(never);
            }
            return new InetAddress[] {InetAddress.ofLiteral("127.0.0.9")};
        };
        var lookups = new DirectSockets.Lookups(names);
        try (var server = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.9"))) {
            for (var i = 0; i < 120; i++) {
                var name = "dead-" + i % 60;
                assertThatThrownBy(
                                () -> sockets(lookups, Duration.ofMillis(1)).createSocket(name, server.getLocalPort()))
                        .isInstanceOf(SocketTimeoutException.class);
            }
            for (var name : List.of("127.0.0.9", "gpu-1")) {
                sockets(lookups, HANG).createSocket(name, server.getLocalPort()).close();
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

    private static DirectSockets sockets(DirectSockets.Lookups lookups, Duration timeout) {
        return new DirectSockets(lookups, new Transport(1), Deadline.in(timeout));
    }
}

package dev.genv.enforcer.remote.ssh.transport.socket;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.remote.ssh.transport.time.Deadline;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.StandardSocketOptions;
import jdk.net.ExtendedSocketOptions;
import org.junit.jupiter.api.Test;

class DirectSocketsTest {
    @Test
    void enablesTcpKeepAlive() throws Exception {
        var abortHandle = new AbortHandle();
        var sockets = new DirectSockets(
                new AddressResolver(), abortHandle, new UnsolicitedDataLimit(abortHandle, 1), Deadline.in(HANG));
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
}

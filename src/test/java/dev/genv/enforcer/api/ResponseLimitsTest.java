package dev.genv.enforcer.api;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.RawHttp;
import dev.genv.enforcer.testsupport.Requirements;
import io.vertx.core.Vertx;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A server whose responses never end. */
class ResponseLimitsTest {
    private final Vertx vertx = Vertx.vertx();
    private final List<RoutingContext> begun = new CopyOnWriteArrayList<>();
    private int port;

    @BeforeEach
    void start() throws Exception {
        var router = Router.router(vertx);
        router.route().handler(new ResponseLimits()::check);
        router.route().handler(begun::add);
        port = vertx.createHttpServer()
                .requestHandler(router)
                .listen(0, "0.0.0.0")
                .toCompletionStage()
                .toCompletableFuture()
                .get(HANG.toSeconds(), TimeUnit.SECONDS)
                .actualPort();
    }

    @AfterEach
    void stop() throws Exception {
        vertx.close().toCompletionStage().toCompletableFuture().get(HANG.toSeconds(), TimeUnit.SECONDS);
    }

    @Test
    void clientsOfOneAddressDoNotDelayThoseOfAnother() throws IOException {
        var other = NetworkInterface.networkInterfaces()
                .flatMap(NetworkInterface::inetAddresses)
                .filter(address -> address.getAddress().length == 4 && !address.isLoopbackAddress())
                .findFirst();
        Requirements.require(other.isPresent(), "an IPv4 address besides loopback", "connect it to a network");
        try (var _ = request(InetAddress.getLoopbackAddress(), 1);
                var _ = request(InetAddress.getLoopbackAddress(), 2)) {
            var refused = new RawHttp(port).get("/snapshot");
            assertThat(refused.status()).isEqualTo(503);
            assertThat(refused.head()).containsIgnoringCase("retry-after: 1");
            request(other.get(), 3).close();
        }
    }

    @Test
    void responseIsNotCountedAfterItsClientDisconnects() throws IOException {
        try (var _ = request(InetAddress.getLoopbackAddress(), 1)) {
            request(InetAddress.getLoopbackAddress(), 2).close();
            await().until(() -> {
                try (var _ = send(InetAddress.getLoopbackAddress())) { // refused until the service notices the end
                    return begun.size() > 2;
                }
            });
        }
    }

    /** Returns when the service has begun this number of responses. */
    private Socket request(InetAddress address, int number) throws IOException {
        var socket = send(address);
        await().until(() -> begun.size() == number);
        return socket;
    }

    private Socket send(InetAddress address) throws IOException {
        var socket = new Socket(address, port);
        socket.getOutputStream().write("GET /snapshot HTTP/1.1\r\nHost: a\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        return socket;
    }
}

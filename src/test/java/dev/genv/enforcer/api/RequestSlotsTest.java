package dev.genv.enforcer.api;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.hamcrest.Matchers.equalTo;

import dev.genv.enforcer.api.connection.ClientSlots.Slot;
import dev.genv.enforcer.api.plan.PlanResource;
import dev.genv.enforcer.testsupport.RawHttp;
import dev.genv.enforcer.testsupport.Requirements;
import io.quarkus.test.junit.QuarkusTest;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import jakarta.inject.Inject;
import jakarta.ws.rs.core.MultivaluedHashMap;
import jakarta.ws.rs.core.UriInfo;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A server whose responses never end, and plans whose clients have left. */
@QuarkusTest
@Tag("quarkus")
class RequestSlotsTest {
    private static final String REQUEST =
            "POST /plan HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

    @Inject
    Vertx vertx;

    private final List<HttpServer> servers = new ArrayList<>();
    private final AtomicInteger arrived = new AtomicInteger();
    private final List<RoutingContext> begun = new CopyOnWriteArrayList<>();
    private int port;

    @BeforeEach
    void start() throws Exception {
        port = listen(begun::add);
    }

    @AfterEach
    void stop() {
        servers.forEach(HttpServer::close);
    }

    private int listen(Handler<RoutingContext> handler) throws Exception {
        return listen(handler, new RequestLimits());
    }

    private int listen(Handler<RoutingContext> handler, RequestLimits limits) throws Exception {
        var router = Router.router(vertx);
        router.route().handler(request -> {
            arrived.incrementAndGet();
            request.next();
        });
        router.route().handler(limits::check);
        router.route().handler(handler);
        var server = vertx.createHttpServer()
                .requestHandler(router)
                .listen(0, "0.0.0.0")
                .toCompletionStage()
                .toCompletableFuture()
                .get(HANG.toSeconds(), TimeUnit.SECONDS);
        servers.add(server);
        return server.actualPort();
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
            assertThat(Slot.hold(begun.get(1))).as("a slot that is free again").isEmpty();
        }
    }

    /** Reports are read one after the other anyway, so a third one of an address waits. */
    @Test
    void thirdReportWaitsForItsTurn() throws Exception {
        port = listen(begun::add, new RequestLimits(HANG));
        try (var _ = send("/report");
                var _ = send("/report")) {
            await().until(() -> begun.size() == 2);
            var third = CompletableFuture.supplyAsync(() -> status("/report"));
            await().untilAtomic(arrived, equalTo(3));
            assertThat(begun).hasSize(2);
            begun.getFirst().response().setStatusCode(200).end();
            await().until(() -> begun.size() == 3);
            assertThat(third).isNotDone();
            begun.getLast().response().setStatusCode(200).end();
            assertThat(third.get(HANG.toSeconds(), TimeUnit.SECONDS)).isEqualTo(200);
        }
    }

    @Test
    void reportThatWaitedForTooLongIsRefused() throws Exception {
        port = listen(begun::add, new RequestLimits(Duration.ofMillis(200)));
        try (var _ = send("/report");
                var _ = send("/report")) {
            await().until(() -> begun.size() == 2);
            var refused = new RawHttp(port).get("/report");
            assertThat(refused.status()).isEqualTo(503);
            assertThat(refused.head()).containsIgnoringCase("retry-after: 1");
        }
    }

    private int status(String path) {
        try {
            return new RawHttp(port).get(path).status();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns when the service has begun this number of responses. */
    private Socket request(InetAddress address, int number) throws IOException {
        var socket = send(address);
        await().until(() -> begun.size() == number);
        return socket;
    }

    private Socket send(InetAddress address) throws IOException {
        return send(address, "/snapshot");
    }

    private Socket send(String path) throws IOException {
        return send(InetAddress.getLoopbackAddress(), path);
    }

    private Socket send(InetAddress address, String path) throws IOException {
        var socket = new Socket(address, port);
        socket.getOutputStream()
                .write("GET %s HTTP/1.1\r\nHost: a\r\n\r\n".formatted(path).getBytes(StandardCharsets.US_ASCII));
        return socket;
    }

    @Inject
    PlanResource resource;

    /** The end of its connection does not end the computation of a plan, which occupies a processor. */
    @Test
    void planOfAClientThatLeftCountsUntilItIsComputed() throws Exception {
        var computed = new Semaphore(0);
        var started = new AtomicInteger();
        var left = new AtomicInteger();
        var plans = listen(request -> {
            request.addEndHandler(_ -> left.incrementAndGet());
            request.vertx()
                    .executeBlocking(() -> resource.plan(body(started, computed), request, uri()), false)
                    .onSuccess(_ -> request.end());
        });
        try {
            for (var client = 1; client <= PlanResource.MAX_CONCURRENT; client++) {
                try (var socket = new Socket("localhost", plans)) {
                    socket.getOutputStream().write(REQUEST.getBytes(StandardCharsets.US_ASCII));
                    await().untilAtomic(started, equalTo(client));
                }
            }
            await().untilAtomic(left, equalTo(PlanResource.MAX_CONCURRENT));
            assertThat(new RawHttp(plans).send(REQUEST).status()).isEqualTo(503);
        } finally {
            computed.release(PlanResource.MAX_CONCURRENT);
        }
        await().until(() -> new RawHttp(plans).send(REQUEST).status() == 200);
    }

    /** The first plans take long. */
    private static InputStream body(AtomicInteger begun, Semaphore computed) {
        return new ByteArrayInputStream("{\"snapshots\": {}}".getBytes(StandardCharsets.US_ASCII)) {
            @Override
            public synchronized int read(byte[] bytes, int offset, int length) {
                if (pos == 0 && begun.incrementAndGet() <= PlanResource.MAX_CONCURRENT) {
                    computed.acquireUninterruptibly();
                }
                return super.read(bytes, offset, length);
            }
        };
    }

    private static UriInfo uri() {
        InvocationHandler withoutParameters = (_, _, _) -> new MultivaluedHashMap<String, String>();
        return (UriInfo) Proxy.newProxyInstance(
                UriInfo.class.getClassLoader(), new Class<?>[] {UriInfo.class}, withoutParameters);
    }
}

package dev.genv.enforcer.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.hamcrest.Matchers.equalTo;

import dev.genv.enforcer.api.plan.PlanResource;
import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.api.security.HttpErrors;
import dev.genv.enforcer.testsupport.RawHttp;
import io.quarkus.test.junit.QuarkusTest;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.ext.web.Router;
import jakarta.inject.Inject;
import jakarta.ws.rs.core.MultivaluedHashMap;
import jakarta.ws.rs.core.UriInfo;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The end of its connection does not end the computation of a plan, which occupies a processor. */
@QuarkusTest
@Tag("quarkus")
class PlanSlotsTest {
    private static final String REQUEST =
            "POST /plan HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

    @Inject
    Vertx vertx;

    @Inject
    ResponseLimits limits;

    @Inject
    PlanResource resource;

    @Test
    void planOfAClientThatLeftCountsUntilItIsComputed() throws Exception {
        var computed = new Semaphore(0);
        var begun = new AtomicInteger();
        var left = new AtomicInteger();
        var router = Router.router(vertx);
        router.route().handler(limits::check);
        router.route().handler(request -> {
            request.addEndHandler(_ -> left.incrementAndGet());
            request.vertx()
                    .executeBlocking(() -> resource.plan(body(begun, computed), request, uri()), false)
                    .onSuccess(plan -> request.end(Buffer.buffer(plan)))
                    .onFailure(e -> HttpErrors.send(request, (ApiException) e));
        });
        var server = vertx.createHttpServer().requestHandler(router).listen(0, "localhost");
        await().until(server::succeeded);
        var port = server.result().actualPort();
        try {
            for (var client = 1; client <= PlanResource.MAX_CONCURRENT; client++) {
                try (var socket = new Socket("localhost", port)) {
                    socket.getOutputStream().write(REQUEST.getBytes(StandardCharsets.US_ASCII));
                    await().untilAtomic(begun, equalTo(client));
                }
            }
            await().untilAtomic(left, equalTo(PlanResource.MAX_CONCURRENT));

            assertThat(new RawHttp(port).send(REQUEST).status()).isEqualTo(503);
            computed.release(PlanResource.MAX_CONCURRENT);
            await().until(() -> new RawHttp(port).send(REQUEST).status() == 200);
        } finally {
            computed.release(PlanResource.MAX_CONCURRENT);
            server.result().close();
        }
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

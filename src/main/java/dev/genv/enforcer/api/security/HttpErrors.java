package dev.genv.enforcer.api.security;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.genv.enforcer.genv.GenvJson;
import dev.genv.enforcer.model.SafeText;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.ext.web.RoutingContext;

/** Sends error responses before a resource is called, in the form of all errors. */
public final class HttpErrors {
    /** The detail of status 404. */
    public static final String NO_SUCH_PATH = "there is no such path";
    /** The detail of status 405. */
    public static final String NO_SUCH_METHOD = "the path does not have this method";

    static final String MEDIA_TYPE = "application/problem+json";
    static final int UNAVAILABLE = 503;
    static final String RETRY_AFTER = "Retry-After";
    /** In seconds. */
    static final String SOON = "1";

    private static final int LONGEST_DETAIL = 1000;
    private static final long CLOSE_DELAY_MILLIS = 2000;

    private HttpErrors() {}

    public static void send(RoutingContext request, ApiException error) {
        send(request, error.status(), String.valueOf(error.getMessage()));
    }

    /**
     * Sends the response, and closes the connection if a body may follow, because the body is not read. With status 503 a client is told when
     * to try again.
     */
    public static void send(RoutingContext request, int status, String detail) {
        if (mayHaveBody(request)) {
            request.response().putHeader(HttpHeaders.CONNECTION, HttpHeaders.CLOSE);
            request.addEndHandler(_ -> closeIfBodyFollows(request));
        }
        var response = request.response();
        if (status == UNAVAILABLE && !response.headers().contains(RETRY_AFTER)) {
            response.putHeader(RETRY_AFTER, SOON);
        }
        response.setStatusCode(status)
                .putHeader(HttpHeaders.CONTENT_TYPE, MEDIA_TYPE)
                .end(Buffer.buffer(body(status, detail)));
    }

    /**
     * Closes the connection of a client that continues to send after its response. It waits before, because many clients send
     * their whole body before they read, and would see only the closed connection.
     */
    public static void closeIfBodyFollows(RoutingContext request) {
        var incoming = request.request();
        if (mayHaveBody(request) && !incoming.isEnded()) {
            incoming.resume();
            request.vertx()
                    .setTimer(CLOSE_DELAY_MILLIS, _ -> incoming.connection().close());
        }
    }

    private static boolean mayHaveBody(RoutingContext request) {
        var headers = request.request().headers();
        return headers.contains(HttpHeaders.CONTENT_LENGTH) || headers.contains(HttpHeaders.TRANSFER_ENCODING);
    }

    /** Returns the body of an error in the form of RFC 9457, in ASCII. The standard phrase of the HTTP status is its title. */
    static byte[] body(int status, String detail) {
        return GenvJson.write(JsonNodeFactory.instance
                .objectNode()
                .put("title", HttpResponseStatus.valueOf(status).reasonPhrase())
                .put("status", status)
                .put("detail", SafeText.escape(detail, LONGEST_DETAIL)));
    }
}

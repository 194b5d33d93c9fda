package dev.genv.enforcer.api;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.ext.web.RoutingContext;

/** Says no before any resource is asked, in the form that every error has. */
final class Refusal {
    private static final long FOR_THE_ANSWER_MILLIS = 2000;

    private Refusal() {}

    /** Answers, and ends the connection where a body may follow: nobody will read it. */
    static void send(RoutingContext request, int status, String detail) {
        if (mayHaveBody(request)) {
            request.response().putHeader(HttpHeaders.CONNECTION, HttpHeaders.CLOSE);
            request.addEndHandler(_ -> hangUpIfMoreComes(request));
        }
        request.response()
                .setStatusCode(status)
                .putHeader(HttpHeaders.CONTENT_TYPE, ProblemDetail.MEDIA_TYPE)
                .end(Buffer.buffer(new ProblemDetail(status, detail).json()));
    }

    /**
     * Ends the connection of a client that has its answer and goes on sending. Not at once: many send all that they have
     * before they read, and would be told of the end alone.
     */
    static void hangUpIfMoreComes(RoutingContext request) {
        var incoming = request.request();
        if (mayHaveBody(request) && !incoming.isEnded()) {
            incoming.resume();
            request.vertx()
                    .setTimer(FOR_THE_ANSWER_MILLIS, _ -> incoming.connection().close());
        }
    }

    private static boolean mayHaveBody(RoutingContext request) {
        var headers = request.request().headers();
        return headers.contains(HttpHeaders.CONTENT_LENGTH) || headers.contains(HttpHeaders.TRANSFER_ENCODING);
    }
}

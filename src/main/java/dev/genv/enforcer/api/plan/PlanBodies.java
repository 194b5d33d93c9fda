package dev.genv.enforcer.api.plan;

import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.api.security.HttpErrors;
import io.quarkus.vertx.http.runtime.filters.Filters;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;

/**
 * Reads the bodies of plan requests on the event loop, so that a slow client occupies neither a thread nor a permit for plans.
 */
@Singleton
public class PlanBodies {
    /** Runs after the limits that need no body. */
    private static final int AFTER_THE_LIMITS = 800;

    private static final long LONGEST_BODY_MILLIS = 10_000;
    /** The time limit for computing the plan and sending it. */
    private static final long LONGEST_ANSWER_MILLIS = 60_000;

    private static final String KEY = PlanBody.class.getName();

    private final PlanMemory memory;

    PlanBodies(PlanMemory memory) {
        this.memory = memory;
    }

    /**
     * Returns the whole body of a plan request. Another spelling of the plan's path, for which no body was read, is not found.
     */
    static PlanBody of(RoutingContext request) {
        PlanBody body = request.get(KEY);
        if (body == null) {
            throw new ApiException(404, "plans are computed by POST " + PlanResource.PATH);
        }
        return body;
    }

    void register(@Observes Filters filters) {
        filters.register(this::receive, AFTER_THE_LIMITS);
    }

    private void receive(RoutingContext context) {
        if (RequestLimits.isPlan(context)) {
            new Reading(context, new PlanBody(memory)).begin();
        } else {
            context.next();
        }
    }

    /** One body until its end or its time limit. It runs on the event loop of its connection. */
    private static final class Reading {
        private final RoutingContext context;
        private final HttpServerRequest request;
        private final PlanBody body;
        private long timer;
        private boolean over;

        Reading(RoutingContext context, PlanBody body) {
            this.context = context;
            this.request = context.request();
            this.body = body;
        }

        void begin() {
            context.put(KEY, body);
            context.addEndHandler(_ -> end());
            var late = new ApiException(
                    408, "the body did not arrive within %d seconds".formatted(LONGEST_BODY_MILLIS / 1000));
            timer = context.vertx().setTimer(LONGEST_BODY_MILLIS, _ -> refuse(late));
            request.handler(this::add).endHandler(_ -> complete());
            if ("100-continue".equalsIgnoreCase(request.getHeader(HttpHeaders.EXPECT))) {
                context.response().writeContinue();
            }
            request.resume();
        }

        private void add(Buffer piece) {
            if (!over) {
                try {
                    body.add(piece.getBytes());
                } catch (ApiException e) {
                    refuse(e);
                }
            }
        }

        private void complete() {
            if (!over) {
                over = true;
                context.vertx().cancelTimer(timer);
                timer = context.vertx()
                        .setTimer(
                                LONGEST_ANSWER_MILLIS, _ -> request.connection().close());
                context.next();
            }
        }

        /** Releases the memory of the body when the response is sent. */
        private void refuse(ApiException why) {
            over = true;
            HttpErrors.send(context, why.status(), String.valueOf(why.getMessage()));
        }

        /** Runs after the response, or when the client has disconnected. */
        private void end() {
            over = true;
            context.vertx().cancelTimer(timer);
            body.close();
        }
    }
}

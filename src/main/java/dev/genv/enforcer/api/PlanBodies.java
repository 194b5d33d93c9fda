package dev.genv.enforcer.api;

import io.quarkus.vertx.http.runtime.filters.Filters;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;

/**
 * Reads the bodies of requests for plans on the event loop. So a client that sends slowly, or not at all, occupies neither a
 * thread nor one of the places for plans.
 */
@Singleton
public class PlanBodies {
    /** After the limits that need no body. */
    private static final int AFTER_THE_LIMITS = 800;

    private static final long LONGEST_BODY_MILLIS = 10_000;
    /** For making the plan and for sending it. */
    private static final long LONGEST_ANSWER_MILLIS = 60_000;

    private static final String KEY = PlanBody.class.getName();

    private final PlanMemory memory;

    PlanBodies(PlanMemory memory) {
        this.memory = memory;
    }

    /**
     * The whole body of a request for a plan.
     *
     * @throws ApiException where the path is another spelling of that of plans: no body was read for it
     */
    static PlanBody of(RoutingContext request) {
        PlanBody body = request.get(KEY);
        if (body == null) {
            throw ApiException.notFound("plans are made by POST " + PlanResource.PATH);
        }
        return body;
    }

    void stand(@Observes Filters filters) {
        filters.register(this::receive, AFTER_THE_LIMITS);
    }

    private void receive(RoutingContext context) {
        if (RequestLimits.isPlan(context)) {
            new Reading(context, new PlanBody(memory)).begin();
        } else {
            context.next();
        }
    }

    /** One body, until its end or until it is given up. All of it happens on the event loop of its connection. */
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
            timer = context.vertx().setTimer(LONGEST_BODY_MILLIS, _ -> expire());
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
                try {
                    body.reserve();
                } catch (ApiException e) {
                    refuse(e);
                    return;
                }
                timer = context.vertx()
                        .setTimer(
                                LONGEST_ANSWER_MILLIS, _ -> request.connection().close());
                context.next();
            }
        }

        private void expire() {
            refuse(ApiException.tooSlow(
                    "the body did not arrive within %d seconds".formatted(LONGEST_BODY_MILLIS / 1000)));
        }

        /** What the body holds is given back when the answer is sent. */
        private void refuse(ApiException why) {
            over = true;
            Refusal.send(context, why.status(), String.valueOf(why.getMessage()));
        }

        /** After the answer, or when the client is gone. */
        private void end() {
            over = true;
            context.vertx().cancelTimer(timer);
            body.close();
        }
    }
}

package dev.genv.enforcer.api.plan;

import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.api.security.HttpErrors;
import io.quarkus.vertx.http.ManagementInterface;
import io.quarkus.vertx.http.runtime.filters.Filters;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Semaphore;

/**
 * Refuses invalid requests, and request bodies, which only plan requests need. Every user of the machine can send them, so they are
 * not logged. The bodies of plan requests are read on the event loop, so that a slow client occupies neither a thread nor a permit for
 * plans.
 *
 * <p>The limits of plans are shares of the heap: the service exits if it runs out of memory, and the cycles need it too. Two plans are
 * computed at the same time. Each takes up to three times the memory of its tree for the objects of the plan, and a growing buffer
 * needs up to three times its content. With the reading of the past, all this is at most three quarters of the heap.
 */
@Singleton
public class RequestLimits {
    private static final int AFTER_THE_TOKEN = 900;
    /** For clients that send an empty object with every request. */
    private static final int LARGEST_OTHER = 1024;

    private static final String INVALID_REQUEST = "this is not a valid request";

    /** Runs after the limits that need no body. */
    private static final int AFTER_THE_LIMITS = 800;

    private static final long LONGEST_BODY_MILLIS = 10_000;
    /** The time limit for computing the plan and sending it. */
    private static final long LONGEST_ANSWER_MILLIS = 60_000;

    private static final String KEY = PlanBody.class.getName();

    private static final int BODIES_SHARE = 16;
    private static final int TREE_SHARE = 24;
    private static final int ANSWER_SHARE = 48;
    private static final int FLEET_SHARE = 16;

    /** A permit for each kibibyte of the bodies that arrive. */
    final Semaphore memory;

    private final long heap;

    @Inject
    RequestLimits() {
        this(Runtime.getRuntime().maxMemory());
    }

    RequestLimits(long heap) {
        this.heap = heap;
        memory = new Semaphore((int) (heap / BODIES_SHARE / 1024));
    }

    void register(@Observes Filters filters) {
        filters.register(this::check, AFTER_THE_TOKEN);
        filters.register(this::receive, AFTER_THE_LIMITS);
    }

    void register(@Observes Router router) {
        router.route().order(-AFTER_THE_TOKEN).failureHandler(RequestLimits::refuse);
    }

    void register(@Observes ManagementInterface management) {
        management.router().route().order(-AFTER_THE_TOKEN).handler(RequestLimits::checkPath);
        management.router().route().order(-AFTER_THE_TOKEN).handler(this::check);
        register(management.router());
        // The router would answer in HTML.
        management.router().errorHandler(404, request -> HttpErrors.send(request, 404, HttpErrors.NO_SUCH_PATH));
    }

    /** Errors of the client are answered and not logged. */
    private static void refuse(RoutingContext request) {
        var status = request.statusCode();
        if (request.response().closed()) {
            return; // The client has closed the connection.
        }
        if (status >= 400 && status < 500 && !request.response().ended()) {
            HttpErrors.send(request, status, INVALID_REQUEST);
        } else {
            request.next();
        }
    }

    /** The router would log a path that it cannot decode. */
    private static void checkPath(RoutingContext request) {
        try {
            request.normalizedPath();
        } catch (IllegalArgumentException e) {
            HttpErrors.send(request, 400, INVALID_REQUEST);
            return;
        }
        request.next();
    }

    /** Whether it is a plan request, the only kind with a body. */
    private static boolean isPlan(RoutingContext request) {
        return request.request().method().equals(HttpMethod.POST)
                && request.normalizedPath().equals(PlanResource.PATH);
    }

    private void check(RoutingContext request) {
        request.addEndHandler(_ -> HttpErrors.closeIfBodyFollows(request));
        if (!isUri(request.request().uri())) {
            HttpErrors.send(
                    request, 400, "the request target is no URI; perhaps a character in it must be percent-encoded");
            return;
        }
        var plan = isPlan(request);
        var largest = plan ? largestBody() : LARGEST_OTHER;
        if (declaredLength(request) > largest) {
            HttpErrors.send(request, 413, "the body is larger than %d bytes".formatted(largest));
        } else if (!plan && request.request().headers().contains(HttpHeaders.TRANSFER_ENCODING)) {
            // The end of a body without a length is not looked for.
            HttpErrors.send(request, 413, "only POST %s accepts a body without a length".formatted(PlanResource.PATH));
        } else {
            request.next();
        }
    }

    /** The framework would log a failure for a target that it cannot parse. */
    private static boolean isUri(String target) {
        try {
            var _ = new URI(target);
            return true;
        } catch (URISyntaxException e) {
            return false;
        }
    }

    /** An invalid number was already refused. */
    private static long declaredLength(RoutingContext request) {
        var length = request.request().getHeader(HttpHeaders.CONTENT_LENGTH);
        return length == null ? 0 : Long.parseLong(length.strip());
    }

    /** Returns the size limit of one body, so that one request cannot use all the memory for bodies. */
    int largestBody() {
        return (int) Math.min(PlanResource.LARGEST_BODY, heap / BODIES_SHARE / 2);
    }

    /** Returns the limit of a parsed body. */
    long largestTree() {
        return heap / TREE_SHARE;
    }

    /** Returns the limit of the plan of an observed fleet. */
    long largestFleet() {
        return heap / FLEET_SHARE;
    }

    int largestAnswer() {
        return (int) Math.min(PlanResource.LARGEST_BODY, heap / ANSWER_SHARE);
    }

    /**
     * Returns the whole body of a plan request. Another spelling of the plan's path, for which no body was read, is not found.
     */
    static PlanBody bodyOf(RoutingContext request) {
        PlanBody body = request.get(KEY);
        if (body == null) {
            throw new ApiException(404, "plans are computed by POST " + PlanResource.PATH);
        }
        return body;
    }

    private void receive(RoutingContext context) {
        if (isPlan(context)) {
            new Reading(context, new PlanBody()).begin();
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
            HttpErrors.send(context, why);
        }

        /** Runs after the response, or when the client has disconnected. */
        private void end() {
            over = true;
            context.vertx().cancelTimer(timer);
            body.close();
        }
    }

    /** The body of a plan request while it arrives. It holds hardly more memory than it has reserved, even if the pieces are small. */
    final class PlanBody implements AutoCloseable {
        private static final int BLOCK = 1 << 10;

        private List<byte[]> blocks = new ArrayList<>();
        private int permits;
        private int length;
        private int users = 1;

        /** Adds the next piece. Refuses a body that is too long, or for which other bodies leave no memory. */
        void add(byte[] piece) {
            if (piece.length > largestBody() - length) {
                throw new ApiException(413, "the body is larger than %d bytes".formatted(largestBody()));
            }
            for (var from = 0; from < piece.length; ) {
                var filled = length % BLOCK;
                if (filled == 0) {
                    reserve();
                    blocks.add(new byte[BLOCK]);
                }
                var count = Math.min(piece.length - from, BLOCK - filled);
                System.arraycopy(piece, from, blocks.getLast(), filled, count);
                length += count;
                from += count;
            }
        }

        private synchronized void reserve() {
            if (users == 0 || !memory.tryAcquire()) {
                throw new ApiException(503, "other plan requests use all the memory for plans; try again soon");
            }
            permits++;
        }

        /** Opens the body, once. */
        InputStream open() {
            var streams = new ArrayList<InputStream>();
            for (var block : blocks) {
                streams.add(new ByteArrayInputStream(block, 0, Math.min(BLOCK, length - BLOCK * streams.size())));
            }
            blocks = new ArrayList<>();
            return new SequenceInputStream(Collections.enumeration(streams));
        }

        /**
         * Keeps the reservation until one more {@link #close}: a plan that is being computed needs it even if the client has
         * disconnected. Refuses if it was already released.
         */
        synchronized PlanBody retain() {
            if (users == 0) {
                throw new ApiException(408, "the client has disconnected");
            }
            users++;
            return this;
        }

        @Override
        public synchronized void close() {
            users--;
            if (users == 0) {
                memory.release(permits);
                permits = 0;
            }
        }
    }
}

package dev.genv.enforcer.api.connection;

import io.quarkus.vertx.http.ManagementInterface;
import io.quarkus.vertx.http.runtime.filters.Filters;
import io.vertx.core.net.impl.ConnectionBase;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;

/** Records for each connection of both ports when a request begins and when it is answered. */
@Singleton
public class OpenRequests {
    /** Runs before all handlers that may answer. */
    private static final int FIRST = 3000;

    void register(@Observes Filters filters) {
        filters.register(OpenRequests::track, FIRST);
    }

    void register(@Observes ManagementInterface management) {
        management.router().route().order(-FIRST).handler(OpenRequests::track);
    }

    private static void track(RoutingContext request) {
        var channel = ((ConnectionBase) request.request().connection()).channel();
        var connection = ClientConnection.of(channel);
        if (!channel.isWritable()) {
            // A client that does not read its responses gets no further one, which would need memory.
            ForcedClose.close(channel);
            return;
        }
        if (connection != null) {
            connection.beginRequest();
            request.addEndHandler(_ -> connection.endRequest());
        }
        request.next();
    }
}

package dev.genv.enforcer.api;

import dev.genv.enforcer.api.connection.ClientConnection;
import dev.genv.enforcer.api.connection.ClientSlots;
import dev.genv.enforcer.api.plan.PlanResource;
import dev.genv.enforcer.api.report.ReportResource;
import dev.genv.enforcer.api.report.UsersResource;
import dev.genv.enforcer.api.security.HttpErrors;
import io.quarkus.vertx.http.ManagementInterface;
import io.quarkus.vertx.http.runtime.filters.Filters;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Pattern;

/**
 * Limits the number of unfinished requests whose responses have a size that users choose. Each keeps its content in memory until the
 * client has read it, even if the service has already replaced that state. A plan also occupies a
 * thread while its request arrives, and a processor until it is computed.
 */
@Singleton
public class ResponseLimits {
    private static final int AFTER_THE_TOKEN = 890;
    /** All clients behind a proxy have the same address. */
    private static final int MAX_OF_AN_ADDRESS = 2;
    /** Suffixes that lead to the same resource: matrix parameters, and a slash at the end. */
    private static final Pattern IGNORED = Pattern.compile(";[^/]*|/+(;[^/]*)?$");

    /** The default of Quarkus. */
    private static final String METRICS = "/q/metrics";

    private static final String USERS = UsersResource.PATH + "/";

    private final Map<String, ClientSlots> slots = Map.of(
            ServiceResource.SNAPSHOT,
            slots(3),
            ViolationsResource.PATH,
            slots(3),
            UsersResource.PATH,
            slots(3),
            ReportResource.PATH,
            slots(3),
            METRICS,
            slots(3),
            PlanResource.PATH,
            slots(PlanResource.MAX_CONCURRENT));

    private static ClientSlots slots(int concurrent) {
        return new ClientSlots(concurrent, MAX_OF_AN_ADDRESS);
    }

    void register(@Observes Filters filters) {
        filters.register(this::check, AFTER_THE_TOKEN);
    }

    void register(@Observes ManagementInterface management) {
        management.router().route().order(-AFTER_THE_TOKEN).handler(this::check);
    }

    void check(RoutingContext request) {
        var path = IGNORED.matcher(request.normalizedPath()).replaceAll("");
        var ofPath = slots.get(path.startsWith(USERS) ? UsersResource.PATH : path);
        if (ofPath == null) {
            request.next();
            return;
        }
        var slot = ofPath.take(ClientConnection.address(request));
        if (slot.isPresent()) {
            slot.get().attachTo(request);
            var isEnded = new AtomicBoolean(); // an end and an exception call the handler twice
            request.addEndHandler(_ -> {
                if (isEnded.compareAndSet(false, true)) {
                    slot.get().close();
                }
            });
            request.next();
        } else {
            HttpErrors.send(request, 503, "too many clients wait for this response; try again soon");
        }
    }
}

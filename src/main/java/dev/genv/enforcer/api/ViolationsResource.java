package dev.genv.enforcer.api;

import dev.genv.enforcer.api.query.ViolationFilter;
import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.api.stream.EventId;
import dev.genv.enforcer.api.view.ViolationView;
import dev.genv.enforcer.enforcement.report.EventLog;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.UriInfo;
import java.util.List;
import org.jboss.resteasy.reactive.RestResponse;

/** The active and resolved violations. */
@Path(ViolationsResource.PATH)
@Produces(MediaType.APPLICATION_JSON)
public class ViolationsResource {
    static final String PATH = "/violations";

    private final ViolationRegistry registry;
    private final EventLog events;

    ViolationsResource(ViolationRegistry registry, EventLog events) {
        this.registry = registry;
        this.events = events;
    }

    @GET
    public RestResponse<List<ViolationView>> list(@Context UriInfo uri) {
        var filter = ViolationFilter.of(uri.getQueryParameters());
        // Before the violations are read, so that a client that continues with the events after it misses none.
        var latest = EventId.latest(events);
        var violations = registry.find(filter.predicate(), filter.limit()).stream()
                .map(ViolationView::of)
                .toList();
        return RestResponse.ResponseBuilder.ok(violations)
                .header(EventId.HEADER, latest)
                .build();
    }

    @GET
    @Path("/{id}")
    public ViolationView get(String id) {
        return registry.find(id)
                .map(ViolationView::of)
                .orElseThrow(() -> new ApiException(404, "there is no violation \"%s\"".formatted(id)));
    }
}

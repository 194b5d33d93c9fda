package dev.genv.enforcer.api;

import dev.genv.enforcer.enforcement.Enforcer;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;
import java.util.List;
import org.eclipse.microprofile.openapi.annotations.Operation;

/** The hosts and how well they can be seen. */
@Path("/hosts")
@Produces(MediaType.APPLICATION_JSON)
public class HostsResource {
    private final Enforcer enforcer;

    HostsResource(Enforcer enforcer) {
        this.enforcer = enforcer;
    }

    @GET
    @Operation(summary = "The hosts as the last cycle saw them; none before the first one")
    public List<HostView> list() {
        return enforcer.latest().map(HostView::of).orElse(List.of());
    }
}

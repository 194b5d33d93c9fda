package dev.genv.enforcer.api;

import dev.genv.enforcer.api.view.HostView;
import dev.genv.enforcer.enforcement.Enforcer;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;
import java.util.List;
import org.eclipse.microprofile.openapi.annotations.Operation;
import org.eclipse.microprofile.openapi.annotations.responses.APIResponse;

/** The hosts and the completeness of their observation. */
@Path("/hosts")
@Produces(MediaType.APPLICATION_JSON)
public class HostsResource {
    private final Enforcer enforcer;

    HostsResource(Enforcer enforcer) {
        this.enforcer = enforcer;
    }

    @GET
    @Operation(operationId = "listHosts", summary = "The hosts in the last cycle; empty before the first one")
    @APIResponse(responseCode = "200", description = "The hosts in the order of their names.")
    public List<HostView> list() {
        return enforcer.latest().map(HostView::of).orElse(List.of());
    }
}

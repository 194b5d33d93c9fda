package dev.genv.enforcer.api;

import dev.genv.enforcer.api.view.HostView;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.recording.DeviceHistory;
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
    private final DeviceHistory history;

    HostsResource(Enforcer enforcer, DeviceHistory history) {
        this.enforcer = enforcer;
        this.history = history;
    }

    @GET
    @Operation(operationId = "listHosts", summary = "The hosts in the last cycle; empty before the first one")
    @APIResponse(responseCode = "200", description = "The hosts in the order of their names.")
    public List<HostView> list() {
        return enforcer.latest().map(report -> HostView.of(report, history)).orElse(List.of());
    }
}

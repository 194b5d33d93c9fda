package dev.genv.enforcer.api;

import dev.genv.enforcer.api.view.StatusView;
import dev.genv.enforcer.enforcement.CycleSchedule;
import dev.genv.enforcer.enforcement.Enforcer;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;
import org.eclipse.microprofile.openapi.annotations.Operation;
import org.eclipse.microprofile.openapi.annotations.responses.APIResponse;

/** The status of the service itself. */
@Path("/status")
@Produces(MediaType.APPLICATION_JSON)
public class StatusResource {
    private final Enforcer enforcer;
    private final CycleSchedule schedule;

    StatusResource(Enforcer enforcer, CycleSchedule schedule) {
        this.enforcer = enforcer;
        this.schedule = schedule;
    }

    @GET
    @Operation(operationId = "getStatus", summary = "When the last cycle ended, and why it failed if it did")
    @APIResponse(responseCode = "200", description = "The status of the service.")
    public StatusView show() {
        return StatusView.of(enforcer, schedule);
    }
}

package dev.genv.enforcer.api;

import dev.genv.enforcer.api.view.FleetView;
import dev.genv.enforcer.enforcement.Enforcer;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;
import org.eclipse.microprofile.openapi.annotations.Operation;
import org.eclipse.microprofile.openapi.annotations.media.Content;
import org.eclipse.microprofile.openapi.annotations.media.Schema;
import org.eclipse.microprofile.openapi.annotations.responses.APIResponse;

/** The snapshots of the last cycle. */
@Path(SnapshotResource.PATH)
@Produces(MediaType.APPLICATION_JSON)
public class SnapshotResource {
    static final String PATH = "/snapshot";

    private final Enforcer enforcer;

    SnapshotResource(Enforcer enforcer) {
        this.enforcer = enforcer;
    }

    @GET
    @Operation(
            operationId = "getSnapshot",
            summary = "Every host in the form of \"genv usage snapshot\"; empty before the first cycle")
    @APIResponse(
            responseCode = "200",
            description = "The hosts in the form of \"genv usage snapshot\".",
            content = @Content(schema = @Schema(ref = "#/components/schemas/FleetView")))
    public FleetView show() {
        return enforcer.latest()
                .map(report -> new FleetView(report.fleet().snapshots()))
                .orElse(FleetView.EMPTY);
    }
}

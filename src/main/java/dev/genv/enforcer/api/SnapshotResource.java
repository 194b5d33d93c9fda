package dev.genv.enforcer.api;

import dev.genv.enforcer.enforcement.Enforcer;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;
import org.eclipse.microprofile.openapi.annotations.Operation;

/** What the last cycle saw. */
@Path(SnapshotResource.PATH)
@Produces(MediaType.APPLICATION_JSON)
public class SnapshotResource {
    static final String PATH = "/snapshot";

    private final Enforcer enforcer;

    SnapshotResource(Enforcer enforcer) {
        this.enforcer = enforcer;
    }

    @GET
    @Operation(summary = "Every host in the form of \"genv usage snapshot\"; none before the first cycle")
    public FleetView show() {
        return enforcer.latest()
                .map(report -> new FleetView(report.fleet().snapshots()))
                .orElse(FleetView.EMPTY);
    }
}

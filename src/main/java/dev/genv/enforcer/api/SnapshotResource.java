package dev.genv.enforcer.api;

import com.fasterxml.jackson.annotation.JsonValue;
import dev.genv.enforcer.api.view.SnapshotView;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.model.Snapshot;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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
        return FleetView.of(
                enforcer.latest().map(report -> report.fleet().snapshots()).orElse(List.of()));
    }

    /** The snapshots of all hosts by name. The static description of the API has its schema. */
    public record FleetView(@JsonValue Map<String, SnapshotView> hosts) {
        private static FleetView of(List<Snapshot> snapshots) {
            var hosts = new LinkedHashMap<String, SnapshotView>();
            snapshots.forEach(snapshot -> hosts.put(snapshot.host(), SnapshotView.of(snapshot)));
            return new FleetView(hosts);
        }
    }
}

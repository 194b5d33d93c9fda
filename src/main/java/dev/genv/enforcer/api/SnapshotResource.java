package dev.genv.enforcer.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.format.SnapshotJson;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;
import org.eclipse.microprofile.openapi.annotations.Operation;

/** What the last cycle saw. */
@Path("/snapshot")
@Produces(MediaType.APPLICATION_JSON)
public class SnapshotResource {
    private final Enforcer enforcer;

    SnapshotResource(Enforcer enforcer) {
        this.enforcer = enforcer;
    }

    @GET
    @Operation(summary = "Every host in the form of \"genv usage snapshot\"; none before the first cycle")
    public JsonNode show() {
        var hosts = JsonNodeFactory.instance.objectNode();
        enforcer.latest()
                .ifPresent(report -> report.fleet()
                        .snapshots()
                        .forEach(snapshot -> hosts.set(snapshot.host(), SnapshotJson.write(snapshot))));
        return hosts;
    }
}

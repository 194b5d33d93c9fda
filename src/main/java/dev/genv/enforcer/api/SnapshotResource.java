package dev.genv.enforcer.api;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.annotation.JsonSerialize;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.genv.SnapshotJson;
import dev.genv.enforcer.model.Snapshot;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;
import java.io.IOException;
import java.util.List;
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
        return new FleetView(
                enforcer.latest().map(report -> report.fleet().snapshots()).orElse(List.of()));
    }

    /** The snapshots of all hosts by name, written to the client as a stream. The static description of the API has its schema. */
    @JsonSerialize(using = FleetView.Serializer.class)
    public record FleetView(List<Snapshot> snapshots) {
        static final class Serializer extends JsonSerializer<FleetView> {
            @Override
            public void serialize(FleetView fleet, JsonGenerator out, SerializerProvider serializers)
                    throws IOException {
                out.writeStartObject();
                for (var snapshot : fleet.snapshots) {
                    out.writeFieldName(snapshot.host());
                    SnapshotJson.write(snapshot, out);
                }
                out.writeEndObject();
            }
        }
    }
}

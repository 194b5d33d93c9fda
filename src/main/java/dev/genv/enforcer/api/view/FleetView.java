package dev.genv.enforcer.api.view;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.annotation.JsonSerialize;
import dev.genv.enforcer.format.SnapshotJson;
import dev.genv.enforcer.model.Snapshot;
import java.io.IOException;
import java.util.List;
import org.eclipse.microprofile.openapi.annotations.enums.SchemaType;
import org.eclipse.microprofile.openapi.annotations.media.Schema;

/** The snapshots of all hosts by name, written to the client as a stream. */
@JsonSerialize(using = FleetView.Serializer.class)
@Schema(
        type = SchemaType.OBJECT,
        properties = {},
        additionalProperties = HostSnapshotView.class)
public record FleetView(@Schema(hidden = true) List<Snapshot> snapshots) {
    public static final FleetView EMPTY = new FleetView(List.of());

    static final class Serializer extends JsonSerializer<FleetView> {
        @Override
        public void serialize(FleetView fleet, JsonGenerator out, SerializerProvider serializers) throws IOException {
            out.writeStartObject();
            for (var snapshot : fleet.snapshots) {
                out.writeFieldName(snapshot.host());
                SnapshotJson.write(snapshot, out);
            }
            out.writeEndObject();
        }
    }
}

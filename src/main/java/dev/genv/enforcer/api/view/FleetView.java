package dev.genv.enforcer.api.view;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.annotation.JsonSerialize;
import dev.genv.enforcer.format.SnapshotJson;
import dev.genv.enforcer.model.Snapshot;
import java.io.IOException;
import java.util.List;

/** The snapshots of all hosts by name, written to the client as a stream. The static description of the API has its schema. */
@JsonSerialize(using = FleetView.Serializer.class)
public record FleetView(List<Snapshot> snapshots) {
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

package dev.genv.enforcer.recording.change;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Device.Attachment;
import java.io.IOException;
import java.util.ArrayList;

/** A device as JSON; each attachment is an array of the environment, the requested memory and the time. */
final class DeviceJson {
    private DeviceJson() {}

    static void write(Device device, JsonGenerator out) throws IOException {
        out.writeStartObject();
        out.writeNumberField("index", device.index());
        if (device.totalMemory() != null) {
            out.writeStringField("total", device.totalMemory());
        }
        out.writeArrayFieldStart("attached");
        for (var attachment : device.attachments()) {
            out.writeStartArray();
            out.writeString(attachment.eid());
            out.writeString(attachment.gpuMemory());
            out.writeString(attachment.time());
            out.writeEndArray();
        }
        out.writeEndArray();
        out.writeEndObject();
    }

    static Device read(JsonNode json) throws UnreadableException {
        var fields = new RecordFields(json);
        var attachments = new ArrayList<Attachment>();
        for (var entry : fields.array("attached")) {
            var eid = RecordFields.textOrNull(entry.path(0));
            if (eid == null) {
                throw new UnreadableException("has an attachment without an environment");
            }
            attachments.add(new Attachment(
                    eid, RecordFields.textOrNull(entry.path(1)), RecordFields.textOrNull(entry.path(2))));
        }
        return new Device(fields.integer("index"), fields.textOrNull("total"), attachments);
    }
}

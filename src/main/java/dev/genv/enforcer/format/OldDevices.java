package dev.genv.enforcer.format;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.util.ArrayList;
import java.util.List;

/** The form of {@code devices.json} before genv 0.9.0: {@code {"devices": {"0": {"total_memory": …, "eids": {"15971": {…}}}}}}. */
final class OldDevices {
    private OldDevices() {}

    /** Returns the entries in the present form. */
    static List<JsonNode> convert(JsonNode root) {
        var entries = new ArrayList<JsonNode>();
        for (var property : root.path("devices").properties()) {
            var device = JsonNodeFactory.instance.objectNode();
            if (property.getKey().matches("[0-9]{1,9}")) {
                device.put("index", Integer.parseInt(property.getKey()));
            } else {
                device.put("index", property.getKey());
            }
            device.set("total_memory", property.getValue().path("total_memory"));
            if (property.getValue().path("eids").isObject()) {
                var attachments = device.putArray("attachments");
                for (var eid : property.getValue().path("eids").properties()) {
                    var attachment = attachments.addObject().put("eid", eid.getKey());
                    attachment.set("gpu_memory", eid.getValue().path("gpu_memory"));
                    attachment.set("time", eid.getValue().path("attached"));
                }
            }
            entries.add(device);
        }
        return entries;
    }
}

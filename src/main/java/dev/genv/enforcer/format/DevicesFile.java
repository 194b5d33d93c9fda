package dev.genv.enforcer.format;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import dev.genv.enforcer.model.Attachment;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Problem;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What {@code devices.json} says. An entry that cannot be read costs itself, a field that cannot be read
 * that field, and nothing else.
 *
 * @param devices with the attachments of all environments, dead ones too
 */
public record DevicesFile(List<Device> devices, List<Problem> problems) {
    public static final DevicesFile EMPTY = new DevicesFile(List.of(), List.of());

    /**
     * Reads the file's present form or the one from before genv 0.9.0.
     *
     * @throws UnreadableException where the whole is of no shape that genv ever wrote
     */
    public static DevicesFile of(JsonNode root) throws UnreadableException {
        var byIndex = new LinkedHashMap<Integer, List<Device>>();
        var problems = new ArrayList<Problem>();
        for (var entry : isOld(root) ? OldDevices.modernised(root) : Entries.of(root, "devices", "index")) {
            try {
                var device = device(new Fields(entry), problems);
                byIndex.computeIfAbsent(device.index(), _ -> new ArrayList<>()).add(device);
            } catch (UnreadableException e) {
                Entries.report(problems, Entries.problem("device " + Entries.name(entry.path("index")), e));
            }
        }
        var devices = new ArrayList<Device>();
        byIndex.forEach((index, same) -> {
            if (same.size() > 1) {
                Entries.report(problems, Entries.problem("device " + index, "is there more than once"));
            }
            devices.add(same.size() > 1 ? merged(same) : same.getFirst());
        });
        return new DevicesFile(List.copyOf(devices), List.copyOf(problems));
    }

    /** One device of all entries with its index: whoever one of them says is attached, is. */
    private static Device merged(List<Device> same) {
        return new Device(
                same.getFirst().index(),
                same.stream()
                        .map(Device::totalMemory)
                        .filter(Objects::nonNull)
                        .findFirst()
                        .orElse(null),
                same.stream().flatMap(device -> device.attachments().stream()).toList());
    }

    /** Writes the devices in the file's form. */
    public static void write(List<Device> devices, JsonGenerator out) throws IOException {
        out.writeStartObject();
        out.writeArrayFieldStart("devices");
        for (var device : devices) {
            out.writeStartObject();
            out.writeNumberField("index", device.index());
            out.writeStringField("total_memory", device.totalMemory());
            out.writeArrayFieldStart("attachments");
            for (var attachment : device.attachments()) {
                out.writeStartObject();
                out.writeStringField("eid", attachment.eid());
                out.writeStringField("gpu_memory", attachment.gpuMemory());
                out.writeStringField("time", attachment.time());
                out.writeEndObject();
            }
            out.writeEndArray();
            out.writeEndObject();
        }
        out.writeEndArray();
        out.writeEndObject();
    }

    /**
     * Where an attachment stands, and which one it is: somebody may have detached that environment and attached it again.
     *
     * @param time null where it has none
     */
    public record Place(int device, String eid, @Nullable String time) {
        public Place(int device, Attachment attachment) {
            this(device, attachment.eid(), attachment.time());
        }
    }

    /**
     * Takes attachments out of the file, all in one go: users choose how many there are. Whatever else stands in it stays
     * as it is, also what we do not understand.
     *
     * @param root is changed
     * @return those that were there
     * @throws UnreadableException where the file is in the form from before genv 0.9.0, or in none
     */
    public static Set<Place> remove(JsonNode root, Set<Place> places) throws UnreadableException {
        if (isOld(root)) {
            throw new UnreadableException("has the form from before genv 0.9.0, which is read but never written");
        }
        Entries.of(root, "devices", "index");
        var removed = new HashSet<Place>();
        for (var entry : root.path("devices")) {
            if (entry.path("index").isInt() && entry.path("attachments") instanceof ArrayNode attachments) {
                var device = entry.path("index").intValue();
                attachments.removeIf(node -> place(device, node)
                        .filter(places::contains)
                        .map(removed::add)
                        .isPresent());
            }
        }
        return removed;
    }

    /** Nothing where it cannot be told: a time that is no text is not the time of an attachment without one. */
    private static Optional<Place> place(int device, JsonNode attachment) {
        var eid = attachment.path("eid").textValue();
        var time = attachment.path("time");
        return eid != null && (time.isTextual() || time.isNull() || time.isMissingNode())
                ? Optional.of(new Place(device, eid, time.textValue()))
                : Optional.empty();
    }

    private static boolean isOld(JsonNode root) {
        return root.path("devices").isObject();
    }

    private static Device device(Fields fields, List<Problem> problems) throws UnreadableException {
        var index = fields.index("index");
        var attachments = new ArrayList<Attachment>();
        for (var entry : fields.array("attachments")) {
            try {
                attachments.add(attachment(index, new Fields(entry), problems));
            } catch (UnreadableException e) {
                Entries.report(problems, Entries.problem("an attachment of device " + index, e));
            }
        }
        var lenient = new Lenient("device " + index, problems);
        return new Device(index, lenient.read(() -> fields.textOrNull("total_memory")), attachments);
    }

    /** Whose it is must be readable; what else is wrong with it must not make his processes strangers there. */
    private static Attachment attachment(int device, Fields fields, List<Problem> problems) throws UnreadableException {
        var eid = fields.id("eid");
        var lenient = new Lenient("the attachment of environment %s to device %d".formatted(eid, device), problems);
        return new Attachment(
                eid,
                lenient.read(() -> fields.textOrNull("gpu_memory")),
                lenient.read(() -> fields.textOrNull("time")));
    }
}

package dev.genv.enforcer.genv;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.genv.Entries.Fields;
import dev.genv.enforcer.genv.Entries.OptionalFields;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.SafeText;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The content of {@code devices.json}. An invalid entry is dropped, an invalid field is ignored, and everything else counts.
 *
 * @param devices the devices with the attachments of all environments, inactive ones too
 */
public record DevicesFile(List<Device> devices, List<Problem> problems) {
    public static final DevicesFile EMPTY = new DevicesFile(List.of(), List.of());

    /**
     * Parses the file.
     *
     * @throws UnreadableException if it has another form than that of genv since 0.9.0
     */
    public static DevicesFile of(JsonNode root) throws UnreadableException {
        var devices = new ArrayList<Device>();
        var problems = new ArrayList<Problem>();
        for (var entry : Entries.of(root, "devices")) {
            try {
                devices.add(device(new Fields(entry), problems));
            } catch (UnreadableException e) {
                Entries.report(problems, "device " + Entries.name(entry.path("index")), e);
            }
        }
        var merged = Entries.mergeSame(
                devices.stream(),
                Device::index,
                DevicesFile::merged,
                index -> Entries.report(problems, "device " + index, "is there more than once"));
        return new DevicesFile(merged, List.copyOf(problems));
    }

    /** Returns what this file or another reading of it contains. */
    public DevicesFile union(DevicesFile other) {
        var all = Stream.concat(devices.stream(), other.devices.stream());
        return new DevicesFile(
                Entries.mergeSame(all, Device::index, DevicesFile::merged, _ -> {}),
                Entries.both(problems, other.problems));
    }

    /** Merges all entries with the same index: an attachment in one of them counts. */
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

    /** Identifies an attachment by its recorded time too: the environment may have been detached and attached again. */
    public record AttachmentId(
            int device, String eid, @Nullable String time) {
        public AttachmentId(int device, Attachment attachment) {
            this(device, attachment.eid(), attachment.time());
        }
    }

    /**
     * A file without some attachments.
     *
     * @param text in UTF-8
     * @param removed those that were present
     */
    public record Removal(String text, Set<AttachmentId> removed) {}

    /**
     * Removes attachments from a file in one pass, because users choose their number. Each that {@link #of} finds can be removed, whatever its
     * recorded time is. All other bytes stay as they are, so that the form of genv's own files stays genv's.
     *
     * @throws UnreadableException if the file is no JSON, or as {@link #of}
     */
    public static Removal remove(byte[] file, Set<AttachmentId> places) throws UnreadableException {
        var root = GenvJson.read(file);
        var devices = Entries.of(root, "devices");
        var text = new ArraySpans.Text(new String(file, StandardCharsets.UTF_8));
        var spans = text.arrays("devices", "attachments");
        var removed = new HashSet<AttachmentId>();
        for (var position = 0; position < devices.size(); position++) {
            var found = new HashMap<Integer, AttachmentId>();
            var device = devices.get(position);
            var attachments = device.path("attachments");
            for (var element = 0; attachments.isArray() && element < attachments.size(); element++) {
                var place = element;
                attachmentId(device, attachments.get(element))
                        .filter(places::contains)
                        .ifPresent(id -> found.put(place, id));
            }
            text.cut(spans.get(position), found.keySet());
            removed.addAll(found.values());
        }
        return new Removal(text.rest(), removed);
    }

    /** Empty if {@link #of} finds no attachment there. */
    private static Optional<AttachmentId> attachmentId(JsonNode device, JsonNode attachment) {
        try {
            var index = new Fields(device).index("index");
            return Optional.of(new AttachmentId(index, attachment(index, new Fields(attachment), new ArrayList<>())));
        } catch (UnreadableException e) {
            return Optional.empty();
        }
    }

    private static Device device(Fields fields, List<Problem> problems) throws UnreadableException {
        var index = fields.index("index");
        var attachments = new ArrayList<Attachment>();
        for (var entry : fields.array("attachments")) {
            try {
                attachments.add(attachment(index, new Fields(entry), problems));
            } catch (UnreadableException e) {
                Entries.report(problems, "an attachment of device " + index, e);
            }
        }
        var lenient = new OptionalFields("device " + index, problems);
        return new Device(index, lenient.read(() -> fields.textOrNull("total_memory")), attachments);
    }

    /** Its environment must be readable. Other invalid fields do not matter, so that the environment's processes do not violate a rule. */
    private static Attachment attachment(int device, Fields fields, List<Problem> problems) throws UnreadableException {
        var eid = fields.id("eid");
        var lenient =
                new OptionalFields("the attachment of environment %s to device %d".formatted(eid, device), problems);
        lenient.read(() -> fields.textOrNull("time")); // reports another value
        return new Attachment(eid, lenient.read(() -> fields.textOrNull("gpu_memory")), time(fields.child("time")));
    }

    /** Returns the recorded time. Another value is its JSON, or the digest of that, because it identifies the attachment too. */
    private static @Nullable String time(JsonNode time) {
        if (time.isNull() || time.isMissingNode()) {
            return null;
        }
        return time.isTextual() && time.textValue().length() <= Fields.LONGEST_TEXT
                ? time.textValue()
                : SafeText.bounded(time.toString());
    }
}

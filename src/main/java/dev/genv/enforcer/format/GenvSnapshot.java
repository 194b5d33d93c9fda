package dev.genv.enforcer.format;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.format.json.GenvJson;
import dev.genv.enforcer.format.json.UnreadableException;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.device.Device;
import dev.genv.enforcer.model.device.Device.Attachment;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * The output of {@code genv usage snapshot}: the processes that nvidia-smi lists, the live environments, and their attachments.
 *
 * @param json the objects as genv printed them
 * @param warnings what genv printed on its standard error
 */
public record GenvSnapshot(
        JsonNode json, ProcessesJson processes, EnvsFile envs, DevicesFile devices, GenvWarnings warnings) {
    private static final String BEGINNING = "{\n";
    private static final String END = "\n}\n";
    private static final int LONGEST_QUOTE = 60;

    /**
     * Parses the output.
     *
     * @param output one char for each byte (ISO-8859-1)
     * @param errors the beginning of the standard error
     * @throws UnreadableException if it is not an output of genv
     */
    public static GenvSnapshot parse(String output, String errors) throws UnreadableException {
        try {
            var json = GenvJson.read(document(output));
            return new GenvSnapshot(
                    json,
                    ProcessesJson.of(json.path("processes")),
                    EnvsFile.of(json.path("envs")),
                    DevicesFile.of(json.path("devices")),
                    GenvWarnings.parse(errors));
        } catch (UnreadableException e) {
            throw new UnreadableException(e.getMessage() + beginning(output));
        }
    }

    /** Returns the devices of genv's state, and the devices of the processes. */
    public Set<Integer> listedDevices() {
        var listed = new HashSet<Integer>();
        devices.devices().forEach(device -> listed.add(device.index()));
        processes.processes().forEach(process -> listed.addAll(process.devices()));
        return listed;
    }

    /** Returns the attachments of an environment to a device. */
    public List<Attachment> attachments(String eid, int device) {
        return devices.devices().stream()
                .filter(each -> each.index() == device)
                .map(Device::attachments)
                .flatMap(List::stream)
                .filter(attachment -> attachment.eid().equals(eid))
                .toList();
    }

    /** Whether device N is the Nth entry, which genv assumes when it detaches. */
    public boolean isInOrder(int device) {
        return json.path("devices").path("devices").path(device).path("index").asInt(-1) == device;
    }

    /** Returns the object of a process as genv printed it. */
    public Optional<JsonNode> process(int pid) {
        return entries("processes")
                .filter(entry -> entry.path("pid").asInt(-1) == pid)
                .findFirst();
    }

    /** Returns the object of an environment as genv printed it. */
    public Optional<JsonNode> environment(String eid) {
        return entries("envs")
                .filter(entry -> eid.equals(entry.path("eid").textValue()))
                .findFirst();
    }

    private Stream<JsonNode> entries(String name) {
        return StreamSupport.stream(json.path(name).path(name).spliterator(), false);
    }

    /**
     * Returns genv's answer without the output of login scripts before it. In indented JSON only the first line is a single opening brace and only the last line is a single closing brace, and no text in it can add such a line. So additional output makes the answer unreadable and cannot forge it.
     */
    private static byte[] document(String output) throws UnreadableException {
        if (output.isBlank()) {
            throw new UnreadableException("is empty");
        }
        var start = output.startsWith(BEGINNING) ? 0 : output.indexOf("\n" + BEGINNING) + 1;
        if (start == 0 && !output.startsWith(BEGINNING)) {
            throw new UnreadableException("has no snapshot in it that begins with a line of its own");
        }
        if (output.indexOf("\n" + BEGINNING, start) >= 0) {
            throw new UnreadableException("begins more than once");
        }
        if (output.indexOf(END, start) != output.length() - END.length()) {
            throw new UnreadableException("does not end where a snapshot ends");
        }
        return output.substring(start).getBytes(StandardCharsets.ISO_8859_1);
    }

    /** Returns the beginning of an invalid answer, for the message. */
    private static String beginning(String output) {
        var text = output.strip();
        return text.isEmpty()
                ? ""
                : "; it begins with " + SafeText.quote(text.substring(0, Math.min(LONGEST_QUOTE, text.length())));
    }
}

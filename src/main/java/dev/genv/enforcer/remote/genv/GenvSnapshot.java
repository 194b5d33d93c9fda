package dev.genv.enforcer.remote.genv;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.format.DevicesFile;
import dev.genv.enforcer.format.EnvsFile;
import dev.genv.enforcer.format.ProcessesJson;
import dev.genv.enforcer.format.json.GenvJson;
import dev.genv.enforcer.format.json.UnreadableException;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.device.Attachment;
import dev.genv.enforcer.model.device.Device;
import dev.genv.enforcer.model.user.Accounts;
import dev.genv.enforcer.observation.state.LiveState;
import dev.genv.enforcer.observation.state.LivenessSource;
import dev.genv.enforcer.observation.state.State;
import dev.genv.enforcer.remote.CommandResult;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * The output of {@code genv usage snapshot}: the processes that nvidia-smi lists, the live environments, and their attachments.
 */
final class GenvSnapshot {
    private static final String BEGINNING = "{\n";
    private static final String END = "\n}\n";

    private final JsonNode json;
    private final EnvsFile envs;
    private final DevicesFile devices;
    private final ProcessesJson processes;
    private final GenvWarnings warnings;

    private GenvSnapshot(JsonNode json, GenvWarnings warnings) throws UnreadableException {
        this.json = json;
        this.warnings = warnings;
        processes = ProcessesJson.of(json.path("processes"));
        envs = EnvsFile.of(json.path("envs"));
        devices = DevicesFile.of(json.path("devices"));
    }

    /**
     * Parses the output.
     *
     * @throws UnreadableException if it is not an output of genv
     */
    static GenvSnapshot of(CommandResult answer) throws UnreadableException {
        return new GenvSnapshot(GenvJson.read(document(answer.output())), new GenvWarnings(answer.errors()));
    }

    /** The state, and what is unknown of the host. */
    Found<LiveState> state() {
        var state = new State(new State.File.Present<>(envs), new State.File.Present<>(devices));
        var live = LiveState.of(state, new AllAlive(), Accounts.NONE, Set.of());
        var problems = new ArrayList<>(processes.problems());
        problems.addAll(live.problems());
        var found = new Found<>(live.value(), problems, live.missing());
        return processes.unread() > 0 ? found.without(SnapshotPart.EVERY_PROCESS) : found;
    }

    /** Returns the processes that had not exited when genv read them. */
    List<GpuProcess> processes() {
        return processes.processes().stream()
                .filter(process -> !warnings.isGone(process.pid()))
                .map(process -> process.with(warnings.membership(process)))
                .toList();
    }

    /** Returns the devices of genv's state, and the devices of the processes. */
    Set<Integer> listedDevices() {
        var listed = new HashSet<Integer>();
        devices.devices().forEach(device -> listed.add(device.index()));
        processes.processes().forEach(process -> listed.addAll(process.devices()));
        return listed;
    }

    /** Returns the attachments of an environment to a device. */
    List<Attachment> attachments(String eid, int device) {
        return devices.devices().stream()
                .filter(each -> each.index() == device)
                .map(Device::attachments)
                .flatMap(List::stream)
                .filter(attachment -> attachment.eid().equals(eid))
                .toList();
    }

    /** Whether device N is the Nth entry, which genv assumes when it detaches. */
    boolean isInOrder(int device) {
        return json.path("devices").path("devices").path(device).path("index").asInt(-1) == device;
    }

    /** Returns the object of a process as genv printed it. */
    Optional<JsonNode> process(int pid) {
        return entries("processes")
                .filter(entry -> entry.path("pid").asInt(-1) == pid)
                .findFirst();
    }

    /** Returns the object of an environment as genv printed it. */
    Optional<JsonNode> environment(String eid) {
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

    /** genv prints only live environments, and does not report the users of their pids. */
    private record AllAlive() implements LivenessSource {
        @Override
        public List<Environment> alive(Collection<Environment> environments) {
            return List.copyOf(environments);
        }

        @Override
        public Map<Integer, Long> uids(Collection<Environment> environments) {
            return Map.of();
        }
    }
}

package dev.genv.enforcer.format;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.format.json.Fields;
import dev.genv.enforcer.format.json.UnreadableException;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.device.Device;
import dev.genv.enforcer.model.device.Memory;
import dev.genv.enforcer.model.problem.Problem;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Snapshots in the form that {@code genv usage snapshot} prints, with three fields more for each process. */
public final class SnapshotJson {
    private SnapshotJson() {}

    /** Writes the snapshot as a stream: a tree of a large state would need many times the memory of the state. */
    public static void write(Snapshot snapshot, JsonGenerator out) throws IOException {
        out.writeStartObject();
        out.writeObjectFieldStart("processes");
        out.writeArrayFieldStart("processes");
        for (var process : snapshot.processes()) {
            out.writeStartObject();
            out.writeNumberField("pid", process.pid());
            out.writeArrayFieldStart("used_gpu_memory");
            for (var use : process.usage()) {
                out.writeStartObject();
                out.writeNumberField("index", use.device());
                out.writeStringField("gpu_memory", text(use.memory()));
                out.writeEndObject();
            }
            out.writeEndArray();
            writeMembership(process, out);
            WorkloadJson.write(process.workload(), out);
            out.writeEndObject();
        }
        out.writeEndArray();
        out.writeEndObject();
        UnlistedJson.write(snapshot.unlisted(), out);
        writeMissing(snapshot.missing(), out);
        out.writeFieldName("envs");
        EnvsFile.write(snapshot.environments(), out);
        out.writeFieldName("devices");
        DevicesFile.write(snapshot.devices(), out);
        out.writeEndObject();
    }

    /** Only if a part is missing: its list is empty then, although there may be entries. */
    private static void writeMissing(Set<SnapshotPart> missing, JsonGenerator out) throws IOException {
        if (!missing.isEmpty()) {
            out.writeArrayFieldStart("not_observed");
            for (var part : new TreeSet<>(missing)) {
                out.writeString(part.label());
            }
            out.writeEndArray();
        }
    }

    static void writeMembership(GpuProcess process, JsonGenerator out) throws IOException {
        out.writeStringField("user", process.account());
        out.writeStringField("eid", process.membership() instanceof Membership.InEnvironment(var eid) ? eid : null);
        out.writeObjectFieldStart("membership");
        out.writeStringField("by", process.membershipBy().label());
        out.writeEndObject();
    }

    /**
     * Parses a snapshot of a client. Its environments count as active, uids and start times as unknown, and the described devices as
     * all devices.
     *
     * @throws UnreadableException if anything in it is invalid
     */
    public static Snapshot read(String host, JsonNode json) throws UnreadableException {
        var root = new Fields(json);
        var envs = EnvsFile.of(root.child("envs"));
        var file = DevicesFile.of(root.child("devices"));
        refuse(envs.problems());
        refuse(file.problems());
        var processes = ProcessesJson.of(root.child("processes"));
        refuse(processes.problems());
        var listed = Membership.ofListedPids(envs.environments());
        var living = envs.byId().keySet();
        return new Snapshot(
                host,
                processes.processes().stream()
                        .map(process -> process.with(Membership.resolve(process.membership(), process.pid(), listed)))
                        .toList(),
                envs.environments(),
                file.devices().stream()
                        .map(device -> device.retainAttachments(living))
                        .toList(),
                file.devices().stream().map(Device::index).collect(Collectors.toSet()),
                Set.of(),
                List.of());
    }

    private static void refuse(List<Problem> problems) throws UnreadableException {
        if (!problems.isEmpty()) {
            throw new UnreadableException(
                    "has an entry that cannot be read: " + problems.getFirst().detail());
        }
    }

    /** Null if genv would write {@code [N/A]mi}, which is no number. */
    private static @Nullable String text(@Nullable Memory memory) {
        return memory == null ? null : memory.mebibytes() + "mi";
    }
}

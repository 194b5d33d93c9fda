package dev.genv.enforcer.genv;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.Unlisted;
import dev.genv.enforcer.model.Workload;
import dev.genv.enforcer.model.Workload.Container;
import dev.genv.enforcer.model.Workload.Pod;
import dev.genv.enforcer.model.Workload.SlurmJob;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
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

    /** The part of a snapshot for memory and processes that the GPU tool does not list. genv has no such part. */
    static final class UnlistedJson {
        private UnlistedJson() {}

        /** Writes the field {@code gpu_unlisted}; nothing if everything is listed. */
        static void write(Unlisted unlisted, JsonGenerator out) throws IOException {
            if (unlisted.memory().isEmpty()) {
                return;
            }
            out.writeObjectFieldStart("gpu_unlisted");
            out.writeArrayFieldStart("devices");
            for (var device : new TreeMap<>(unlisted.memory()).entrySet()) {
                out.writeStartObject();
                out.writeNumberField("index", device.getKey());
                out.writeStringField("gpu_memory", device.getValue().mebibytes() + "mi");
                out.writeEndObject();
            }
            out.writeEndArray();
            out.writeArrayFieldStart("processes");
            for (var holder : unlisted.holders()) {
                write(holder, out);
            }
            out.writeEndArray();
            out.writeEndObject();
        }

        private static void write(Unlisted.Holder holder, JsonGenerator out) throws IOException {
            var process = holder.process();
            out.writeStartObject();
            out.writeNumberField("pid", process.pid());
            out.writeNumberField("start_time", process.id().startTime());
            if (process.uid() == null) {
                out.writeNullField("uid");
            } else {
                out.writeNumberField("uid", process.uid());
            }
            out.writeStringField("command", process.command());
            writeNumbers("devices", process.devices(), out);
            writeNumbers("used_devices", holder.used(), out);
            SnapshotJson.writeMembership(process, out);
            out.writeStringField(
                    "membership_unknown",
                    process.membership() instanceof Membership.Unknown(var reason, var _) ? reason : null);
            out.writeStringField(
                    "immune",
                    process.immunity() == null ? null : process.immunity().reason());
            out.writeNumberField("since", holder.since());
            WorkloadJson.write(process.workload(), out);
            out.writeEndObject();
        }

        private static void writeNumbers(String name, List<Integer> numbers, JsonGenerator out) throws IOException {
            out.writeArrayFieldStart(name);
            for (var number : numbers) {
                out.writeNumber(number);
            }
            out.writeEndArray();
        }
    }

    /** The part of a process in a snapshot that tells to which workload it belongs. genv has no such part. */
    static final class WorkloadJson {
        private WorkloadJson() {}

        static void write(@Nullable Workload workload, JsonGenerator out) throws IOException {
            if (workload == null) {
                out.writeNullField("workload");
                return;
            }
            out.writeObjectFieldStart("workload");
            out.writeStringField("unit", workload.unit());
            write(workload.container(), out);
            write(workload.pod(), out);
            write(workload.slurmJob(), out);
            out.writeEndObject();
        }

        private static void write(@Nullable Container container, JsonGenerator out) throws IOException {
            if (container == null) {
                out.writeNullField("container");
                return;
            }
            out.writeObjectFieldStart("container");
            out.writeStringField("id", container.id());
            out.writeStringField("engine", container.engine());
            out.writeStringField("by", container.by().label());
            out.writeEndObject();
        }

        private static void write(@Nullable Pod pod, JsonGenerator out) throws IOException {
            if (pod == null) {
                out.writeNullField("pod");
                return;
            }
            out.writeObjectFieldStart("pod");
            out.writeStringField("uid", pod.uid());
            out.writeEndObject();
        }

        private static void write(@Nullable SlurmJob job, JsonGenerator out) throws IOException {
            if (job == null) {
                out.writeNullField("slurm_job");
                return;
            }
            out.writeObjectFieldStart("slurm_job");
            out.writeStringField("id", job.id());
            out.writeStringField("by", job.by().label());
            out.writeEndObject();
        }
    }
}

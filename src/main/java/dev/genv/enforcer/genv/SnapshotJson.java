package dev.genv.enforcer.genv;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.linux.Environ;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Snapshot.Unlisted;
import dev.genv.enforcer.model.SnapshotPart;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Snapshots in the form that {@code genv usage snapshot} prints, with three fields more for each process. */
public final class SnapshotJson {
    private SnapshotJson() {}

    public static void write(Snapshot snapshot, JsonGenerator out) throws IOException {
        var json = new JsonStream(out);
        out.writeStartObject();
        json.object(
                "processes",
                snapshot.processes(),
                all -> json.objects("processes", all, process -> {
                    out.writeNumberField("pid", process.pid());
                    json.objects("used_gpu_memory", process.usage(), use -> {
                        out.writeNumberField("index", use.device());
                        out.writeStringField("gpu_memory", text(use.memory()));
                    });
                    writeMembership(process, json);
                    writeWorkload(process.workload(), json);
                }));
        if (!snapshot.unlisted().memory().isEmpty()) {
            json.object("gpu_unlisted", snapshot.unlisted(), unlisted -> writeUnlisted(unlisted, json));
        }
        // Only if a part is missing: its list is empty then, although there may be entries.
        if (!snapshot.missing().isEmpty()) {
            json.texts(
                    "not_observed",
                    snapshot.missing().stream()
                            .sorted()
                            .map(SnapshotPart::label)
                            .toList());
        }
        out.writeFieldName("envs");
        EnvsFile.write(snapshot.environments(), out);
        out.writeFieldName("devices");
        DevicesFile.write(snapshot.devices(), out);
        out.writeEndObject();
    }

    private static void writeMembership(GpuProcess process, JsonStream json) throws IOException {
        json.out().writeStringField("user", process.account());
        json.out()
                .writeStringField(
                        "eid", process.membership() instanceof Membership.InEnvironment(var eid) ? eid : null);
        json.object("membership", process.membershipBy(), by -> json.out().writeStringField("by", by.label()));
    }

    /** Writes to which workload a process belongs. genv has no such part. */
    private static void writeWorkload(@Nullable Workload workload, JsonStream json) throws IOException {
        var out = json.out();
        json.object("workload", workload, known -> {
            out.writeStringField("unit", known.unit());
            json.object("container", known.container(), container -> {
                out.writeStringField("id", container.id());
                out.writeStringField("engine", container.engine());
                out.writeStringField("by", container.by().label());
            });
            json.object("pod", known.pod(), pod -> out.writeStringField("uid", pod.uid()));
            json.object("slurm_job", known.slurmJob(), job -> {
                out.writeStringField("id", job.id());
                out.writeStringField("by", job.by().label());
            });
        });
    }

    /** Writes the memory and the processes that the GPU tool does not list. genv has no such part. */
    private static void writeUnlisted(Unlisted unlisted, JsonStream json) throws IOException {
        var out = json.out();
        json.objects("devices", new TreeMap<>(unlisted.memory()).entrySet(), device -> {
            out.writeNumberField("index", device.getKey());
            out.writeStringField("gpu_memory", text(device.getValue()));
        });
        json.objects("processes", unlisted.holders(), holder -> {
            var process = holder.process();
            out.writeNumberField("pid", process.pid());
            out.writeNumberField("start_time", process.id().startTime());
            json.number("uid", process.uid());
            out.writeStringField("command", process.command());
            json.numbers("devices", process.devices());
            json.numbers("used_devices", holder.used());
            writeMembership(process, json);
            out.writeStringField(
                    "membership_unknown",
                    process.membership() instanceof Membership.Unknown(var reason, var _) ? reason : null);
            out.writeStringField(
                    "immune",
                    process.immunity() == null ? null : process.immunity().reason());
            out.writeNumberField("since", holder.since());
            writeWorkload(process.workload(), json);
        });
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
        var processes = processes(root.child("processes"));
        var listed = Membership.ofListedPids(envs.environments());
        var living = envs.byId().keySet();
        return new Snapshot(
                host,
                processes.stream()
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
            throw unreadable(problems.getFirst().detail());
        }
    }

    private static UnreadableException unreadable(String entry) {
        return new UnreadableException("has an entry that cannot be read: " + entry);
    }

    /** Null if genv would write {@code [N/A]mi}, which is no number. */
    private static @Nullable String text(@Nullable Memory memory) {
        return memory == null ? null : memory.mebibytes() + "mi";
    }

    /**
     * Parses {@code {"processes": […]}}. Each process has the membership that its environ names; uids and start times are unknown.
     *
     * @throws UnreadableException if anything in it is invalid
     */
    static List<GpuProcess> processes(JsonNode root) throws UnreadableException {
        var byPid = new LinkedHashMap<Integer, GpuProcess>();
        for (var entry : new Fields(root).array("processes")) {
            var name = "a process";
            try {
                var fields = new Fields(entry);
                var pid = fields.index("pid");
                var entries = fields.array("used_gpu_memory");
                name = "process " + pid;
                var usage = usage(entries);
                var membership = membership(entry.path("eid"));
                if (byPid.putIfAbsent(pid, new GpuProcess(new ProcessId(pid, 0), null, "", membership, usage))
                        != null) {
                    name = "a process " + pid;
                    throw new UnreadableException("is there more than once");
                }
            } catch (UnreadableException e) {
                throw unreadable(name + " " + e.getMessage());
            }
        }
        return List.copyOf(byPid.values());
    }

    /** With MIG, a process can have several entries for one device. */
    private static List<DeviceUsage> usage(List<JsonNode> entries) throws UnreadableException {
        var byDevice = new TreeMap<Integer, DeviceUsage>();
        for (var entry : entries) {
            var fields = new Fields(entry);
            var use = new DeviceUsage(fields.index("index"), memory(fields));
            byDevice.merge(use.device(), use, DeviceUsage::plus);
        }
        return List.copyOf(byDevice.values());
    }

    private static Membership membership(JsonNode eid) throws UnreadableException {
        if (eid.isTextual()) {
            return Environ.named(eid.textValue().getBytes(StandardCharsets.UTF_8));
        }
        if (eid.isNull() || eid.isMissingNode()) {
            return new Membership.Outside();
        }
        throw new UnreadableException("has an eid that is not text");
    }

    /** Returns null if the driver does not report the memory: genv writes {@code [N/A]mi} then. */
    private static @Nullable Memory memory(Fields usage) throws UnreadableException {
        var text = usage.textOrNull("gpu_memory");
        if (text == null || text.startsWith("[")) {
            return null;
        }
        return Memory.parse(text)
                .orElseThrow(() -> new UnreadableException("has an amount of memory that cannot be read: " + text));
    }
}

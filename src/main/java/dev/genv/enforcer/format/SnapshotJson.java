package dev.genv.enforcer.format;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.DeviceUsage;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A snapshot in the form that {@code genv usage snapshot} prints. */
public final class SnapshotJson {
    private SnapshotJson() {}

    public static ObjectNode write(Snapshot snapshot) {
        var processes = JsonNodeFactory.instance.arrayNode();
        for (var process : snapshot.processes()) {
            var object = processes.addObject().put("pid", process.pid());
            var usage = object.putArray("used_gpu_memory");
            for (var use : process.usage()) {
                usage.addObject().put("index", use.device()).put("gpu_memory", text(use.memory()));
            }
            object.put("eid", process.membership() instanceof Membership.InEnvironment(var eid) ? eid : null);
        }
        var json = JsonNodeFactory.instance.objectNode();
        json.putObject("processes").set("processes", processes);
        json.set("envs", EnvsFile.write(snapshot.environments()));
        json.set("devices", DevicesFile.write(snapshot.devices()));
        return json;
    }

    /**
     * Reads a snapshot that somebody hands in: its environments are taken as alive, uids and start times as unknown, and
     * the devices that it describes as those that there are.
     *
     * @throws UnreadableException for anything in it that cannot be read
     */
    public static Snapshot read(String host, JsonNode json) throws UnreadableException {
        var root = new Fields(json);
        var envs = EnvsFile.of(root.child("envs"));
        var file = DevicesFile.of(root.child("devices"));
        for (var problems : List.of(envs.problems(), file.problems())) {
            if (!problems.isEmpty()) {
                throw new UnreadableException("has an entry that cannot be read: "
                        + problems.getFirst().detail());
            }
        }
        var processes = new LinkedHashMap<Integer, GpuProcess>();
        for (var entry : new Fields(root.child("processes")).array("processes")) {
            var process = process(new Fields(entry), envs);
            if (processes.put(process.pid(), process) != null) {
                throw new UnreadableException("has process " + process.pid() + " more than once");
            }
        }
        return new Snapshot(
                host,
                List.copyOf(processes.values()),
                envs.environments(),
                file.devices().stream()
                        .map(device -> device.ofOnly(envs.byId().keySet()))
                        .toList(),
                file.devices().stream().map(Device::index).collect(Collectors.toSet()),
                Set.of(),
                List.of());
    }

    private static GpuProcess process(Fields fields, EnvsFile envs) throws UnreadableException {
        var pid = fields.index("pid");
        var eid = fields.textOrNull("eid");
        Membership own = eid == null || eid.isEmpty() ? new Membership.Outside() : new Membership.InEnvironment(eid);
        var usage = new TreeMap<Integer, DeviceUsage>();
        for (var entry : fields.array("used_gpu_memory")) {
            var use = new Fields(entry);
            var device = use.index("index");
            if (usage.put(device, new DeviceUsage(device, memory(use.textOrNull("gpu_memory")))) != null) {
                throw new UnreadableException("has a process " + pid + " that names device " + device + " twice");
            }
        }
        return new GpuProcess(
                new ProcessId(pid, 0),
                null,
                "",
                Membership.resolve(own, pid, envs.environments()),
                List.copyOf(usage.values()));
    }

    /** What the driver does not tell, genv writes as {@code [N/A]mi}. */
    private static @Nullable Memory memory(@Nullable String text) throws UnreadableException {
        if (text == null || text.startsWith("[")) {
            return null;
        }
        return Memory.parse(text)
                .orElseThrow(() -> new UnreadableException("has an amount of memory that cannot be read: " + text));
    }

    /** Null, where genv would write {@code [N/A]mi}: a number that is none. */
    private static @Nullable String text(@Nullable Memory memory) {
        return memory == null ? null : memory.mebibytes() + "mi";
    }
}

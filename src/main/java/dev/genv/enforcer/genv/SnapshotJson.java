package dev.genv.enforcer.genv;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.genv.Entries.Fields;
import dev.genv.enforcer.linux.Environ;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Excuses;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Parses snapshots in the form that {@code genv usage snapshot} prints. */
public final class SnapshotJson {
    private SnapshotJson() {}

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
        for (var problem : Entries.both(envs.problems(), file.problems())) {
            throw unreadable(problem.detail());
        }
        var environments = envs.environments();
        var living = environments.stream().map(Environment::eid).collect(Collectors.toSet());
        var devices = file.devices().stream()
                .map(device -> device.retainAttachments(living))
                .toList();
        return new Snapshot(
                host,
                processes(root.child("processes"), new Excuses(environments, devices, true)),
                environments,
                devices,
                file.devices().stream().map(Device::index).collect(Collectors.toSet()),
                Set.of(),
                List.of());
    }

    private static UnreadableException unreadable(String entry) {
        return new UnreadableException("has an entry that cannot be read: " + entry);
    }

    /**
     * Parses {@code {"processes": […]}}. Uids and start times are unknown.
     *
     * @throws UnreadableException if anything in it is invalid
     */
    private static List<GpuProcess> processes(JsonNode root, Excuses excuses) throws UnreadableException {
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
                var process = new GpuProcess(new ProcessId(pid, 0), null, "", membership, usage);
                if (byPid.putIfAbsent(pid, excuses.apply(process, Stream.empty(), true)) != null) {
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

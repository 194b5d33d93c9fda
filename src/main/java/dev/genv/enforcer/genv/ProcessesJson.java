package dev.genv.enforcer.genv;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.genv.Entries.OptionalFields;
import dev.genv.enforcer.linux.Environ;
import dev.genv.enforcer.model.DeviceUsage;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProcessId;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The processes of a snapshot in genv's form. An invalid entry is dropped, an invalid field is ignored, and everything else
 * counts.
 *
 * @param processes each with the membership that its environ names; uids and start times are unknown
 */
public record ProcessesJson(List<GpuProcess> processes, List<Problem> problems) {

    /**
     * Parses {@code {"processes": […]}}.
     *
     * @throws UnreadableException if it has another form
     */
    public static ProcessesJson of(JsonNode root) throws UnreadableException {
        var byPid = new LinkedHashMap<Integer, GpuProcess>();
        var problems = new ArrayList<Problem>();
        for (var entry : new Fields(root).array("processes")) {
            try {
                var fields = new Fields(entry);
                var pid = fields.index("pid");
                var lenient = new OptionalFields("process " + pid, problems);
                var usage = usage(fields.array("used_gpu_memory"), lenient);
                var process = new GpuProcess(
                        new ProcessId(pid, 0), null, "", membership(entry.path("eid"), lenient), merged(usage));
                if (byPid.putIfAbsent(pid, process) != null) {
                    throw new UnreadableException(pid + " is there more than once");
                }
            } catch (UnreadableException e) {
                Entries.report(problems, Entries.problem("a process", e));
            }
        }
        return new ProcessesJson(List.copyOf(byPid.values()), List.copyOf(problems));
    }

    private static List<DeviceUsage> usage(List<JsonNode> entries, OptionalFields lenient) {
        var usage = new ArrayList<DeviceUsage>();
        for (var entry : entries) {
            var device = lenient.read(() -> new Fields(entry).index("index"));
            if (device != null) {
                usage.add(new DeviceUsage(device, lenient.read(() -> memory(new Fields(entry)))));
            }
        }
        return usage;
    }

    /** With MIG, a process can have several entries for one device. */
    private static List<DeviceUsage> merged(List<DeviceUsage> usage) {
        var byDevice = new TreeMap<Integer, DeviceUsage>();
        usage.forEach(use -> byDevice.merge(use.device(), use, DeviceUsage::plus));
        return List.copyOf(byDevice.values());
    }

    private static Membership membership(JsonNode eid, OptionalFields lenient) {
        if (eid.isTextual()) {
            return Environ.named(eid.textValue().getBytes(StandardCharsets.UTF_8));
        }
        if (eid.isNull() || eid.isMissingNode()) {
            return new Membership.Outside();
        }
        lenient.report("has an eid that is not text");
        return new Membership.Unknown("its environment's id is not text");
    }

    /** genv writes {@code [N/A]mi} if the driver does not report the memory. */
    private static @Nullable Memory memory(Fields usage) throws UnreadableException {
        var text = usage.textOrNull("gpu_memory");
        if (text == null || text.startsWith("[")) {
            return null;
        }
        return Memory.parse(text)
                .orElseThrow(() -> new UnreadableException("has an amount of memory that cannot be read: " + text));
    }
}

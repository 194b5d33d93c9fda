package dev.genv.enforcer.format;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Unlisted;
import java.io.IOException;
import java.util.List;
import java.util.TreeMap;

/** The part of a snapshot for memory and processes that the GPU tool does not list. genv has no such part. */
final class UnlistedJson {
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
                "immune", process.immunity() == null ? null : process.immunity().reason());
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

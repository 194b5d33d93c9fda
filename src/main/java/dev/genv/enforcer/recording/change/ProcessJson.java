package dev.genv.enforcer.recording.change;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.model.DeviceUsage;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProcessId;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A process as JSON. A field that is absent is unknown, or has its usual value. */
final class ProcessJson {
    private ProcessJson() {}

    static void write(GpuProcess process, JsonGenerator out) throws IOException {
        out.writeStartObject();
        writeId(process.id(), out);
        if (process.uid() != null) {
            out.writeNumberField("uid", process.uid());
        }
        out.writeStringField("command", process.command());
        if (process.account() != null) {
            out.writeStringField("account", process.account());
        }
        switch (process.membership()) {
            case Membership.InEnvironment(var eid) -> out.writeStringField("eid", eid);
            case Membership.Outside() -> {}
            case Membership.Unknown(var reason, var listed) -> {
                out.writeStringField("unknown", reason);
                if (listed) {
                    out.writeBooleanField("listed", true);
                }
            }
        }
        if (process.membershipBy() != MembershipSource.ENVIRON) {
            out.writeStringField("by", process.membershipBy().label());
        }
        out.writeArrayFieldStart("usage");
        for (var use : process.usage()) {
            write(use, out);
        }
        out.writeEndArray();
        var immunity = process.immunity();
        if (immunity != null) {
            out.writeStringField("immune", RecordFields.label(immunity.kind()));
            out.writeStringField("why", immunity.reason());
        }
        out.writeEndObject();
    }

    static void writeId(ProcessId id, JsonGenerator out) throws IOException {
        out.writeNumberField("pid", id.pid());
        out.writeNumberField("start", id.startTime());
    }

    private static void write(DeviceUsage use, JsonGenerator out) throws IOException {
        out.writeStartArray();
        out.writeNumber(use.device());
        writeMemory(use.memory(), out);
        out.writeEndArray();
    }

    static void writeMemory(@Nullable Memory memory, JsonGenerator out) throws IOException {
        if (memory == null) {
            out.writeNull();
        } else {
            out.writeNumber(memory.bytes());
        }
    }

    static GpuProcess read(JsonNode json) throws UnreadableException {
        var fields = new RecordFields(json);
        var by = fields.textOrNull("by");
        return new GpuProcess(
                readId(fields),
                fields.longOrNull("uid"),
                fields.text("command"),
                membership(fields),
                by == null ? MembershipSource.ENVIRON : RecordFields.constant(MembershipSource.class, by),
                usage(fields),
                immunity(fields),
                null,
                fields.textOrNull("account"));
    }

    static ProcessId readId(RecordFields fields) throws UnreadableException {
        return new ProcessId(fields.integer("pid"), fields.number("start"));
    }

    private static Membership membership(RecordFields fields) throws UnreadableException {
        var eid = fields.textOrNull("eid");
        if (eid != null) {
            return new Membership.InEnvironment(eid);
        }
        var unknown = fields.textOrNull("unknown");
        return unknown == null ? new Membership.Outside() : new Membership.Unknown(unknown, fields.flag("listed"));
    }

    private static @Nullable Immunity immunity(RecordFields fields) throws UnreadableException {
        var kind = fields.textOrNull("immune");
        return kind == null ? null : new Immunity(RecordFields.constant(Immunity.Kind.class, kind), fields.text("why"));
    }

    private static List<DeviceUsage> usage(RecordFields fields) throws UnreadableException {
        var usage = new ArrayList<DeviceUsage>();
        for (var entry : fields.array("usage")) {
            usage.add(new DeviceUsage(RecordFields.integer(entry.path(0)), readMemory(entry.path(1))));
        }
        return usage;
    }

    static @Nullable Memory readMemory(JsonNode bytes) throws UnreadableException {
        if (bytes.isNull()) {
            return null;
        }
        var number = RecordFields.number(bytes);
        if (number < 0) {
            throw new UnreadableException("has a negative memory");
        }
        return new Memory(number);
    }
}

package dev.genv.enforcer.recording.change;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.DeviceUsage;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Ownership;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.model.Unlisted;
import dev.genv.enforcer.recording.change.HostChange.Unobserved;
import dev.genv.enforcer.recording.change.ProcessChange.MemoryUse;
import dev.genv.enforcer.recording.change.RecordFields.Reader;
import java.io.IOException;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The change of a host as fields of an object. What did not change is absent; {@code x_gone} are the keys of what was removed.
 * In a process or an environment, a field that is absent is unknown or empty, or has its usual value.
 */
public final class HostChangeJson {
    private HostChangeJson() {}

    private interface Writer<T> {
        void write(T value, JsonGenerator out) throws IOException;
    }

    /** Writes the fields into the present object. */
    public static void writeFields(HostChange change, JsonGenerator out) throws IOException {
        write("processes", change.processes().whole(), HostChangeJson::writeProcess, HostChangeJson::writeId, out);
        write("unlisted", change.holders(), HostChangeJson::writeHolder, HostChangeJson::writeId, out);
        writeFilled("memory", change.processes().memory(), HostChangeJson::writeUse, out);
        write("environments", change.environments(), HostChangeJson::writeEnvironment, HostChangeJson::writeText, out);
        write("devices", change.devices(), HostChangeJson::writeDevice, HostChangeJson::writeNumber, out);
        writeFilled(
                "uids",
                change.uidsOfPids().put().entrySet(),
                (uid, to) -> writeNumbers(to, uid.getKey(), uid.getValue()),
                out);
        writeFilled("uids_gone", change.uidsOfPids().removed(), HostChangeJson::writeNumber, out);
        if (change.listedDevices().isPresent()) {
            var listed = change.listedDevices().get().stream().sorted().toList();
            writeArray("listed", listed, HostChangeJson::writeNumber, out);
        }
        if (change.subordinateUids().isPresent()) {
            writeArray(
                    "subuids",
                    change.subordinateUids().get(),
                    (range, to) -> writeNumbers(to, range.owner(), range.first(), range.count()),
                    out);
        }
        if (change.unobserved().isPresent()) {
            writeParts("missing", change.unobserved().get().missing(), out);
            writeParts("hidden", change.unobserved().get().hidden(), out);
        }
    }

    private static <K, V> void write(
            String name, MapChange<K, V> change, Writer<V> writer, Writer<K> removed, JsonGenerator out)
            throws IOException {
        writeFilled(name, change.put().values(), writer, out);
        writeFilled(name + "_gone", change.removed(), removed, out);
    }

    /** Writes an array that has elements. */
    private static <T> void writeFilled(String name, Collection<T> all, Writer<T> writer, JsonGenerator out)
            throws IOException {
        if (!all.isEmpty()) {
            writeArray(name, all, writer, out);
        }
    }

    private static <T> void writeArray(String name, Collection<T> all, Writer<T> writer, JsonGenerator out)
            throws IOException {
        out.writeArrayFieldStart(name);
        for (var each : all) {
            writer.write(each, out);
        }
        out.writeEndArray();
    }

    private static void writeText(String text, JsonGenerator out) throws IOException {
        out.writeString(text);
    }

    private static void writeNumber(Number number, JsonGenerator out) throws IOException {
        out.writeNumber(number.longValue());
    }

    private static void writeNumbers(JsonGenerator out, long... numbers) throws IOException {
        out.writeArray(numbers, 0, numbers.length);
    }

    private static void writeText(String name, @Nullable String value, JsonGenerator out) throws IOException {
        if (value != null) {
            out.writeStringField(name, value);
        }
    }

    private static void writeNumber(String name, @Nullable Number value, JsonGenerator out) throws IOException {
        if (value != null) {
            out.writeNumberField(name, value.longValue());
        }
    }

    private static void writeFlag(String name, boolean value, JsonGenerator out) throws IOException {
        if (value) {
            out.writeBooleanField(name, true);
        }
    }

    private static void writeParts(String name, Set<SnapshotPart> parts, JsonGenerator out) throws IOException {
        var labels = parts.stream().sorted().map(RecordFields::label).toList();
        writeArray(name, labels, HostChangeJson::writeText, out);
    }

    private static void writeId(ProcessId id, JsonGenerator out) throws IOException {
        writeNumbers(out, id.pid(), id.startTime());
    }

    private static void writeHolder(Unlisted.Holder holder, JsonGenerator out) throws IOException {
        out.writeStartObject();
        out.writeNumberField("since", holder.since());
        writeArray("used", holder.used(), HostChangeJson::writeNumber, out);
        out.writeFieldName("process");
        writeProcess(holder.process(), out);
        out.writeEndObject();
    }

    private static void writeUse(MemoryUse use, JsonGenerator out) throws IOException {
        out.writeStartArray();
        out.writeNumber(use.process().pid());
        out.writeNumber(use.process().startTime());
        out.writeNumber(use.device());
        writeMemory(use.memory(), out);
        out.writeEndArray();
    }

    private static void writeUsage(DeviceUsage use, JsonGenerator out) throws IOException {
        out.writeStartArray();
        out.writeNumber(use.device());
        writeMemory(use.memory(), out);
        out.writeEndArray();
    }

    private static void writeMemory(@Nullable Memory memory, JsonGenerator out) throws IOException {
        if (memory == null) {
            out.writeNull();
        } else {
            out.writeNumber(memory.bytes());
        }
    }

    private static void writeProcess(GpuProcess process, JsonGenerator out) throws IOException {
        out.writeStartObject();
        out.writeNumberField("pid", process.id().pid());
        out.writeNumberField("start", process.id().startTime());
        writeNumber("uid", process.uid(), out);
        out.writeStringField("command", process.command());
        writeText("account", process.account(), out);
        switch (process.membership()) {
            case Membership.InEnvironment(var eid) -> out.writeStringField("eid", eid);
            case Membership.Outside() -> {}
            case Membership.Unknown(var reason, var listed) -> {
                out.writeStringField("unknown", reason);
                writeFlag("listed", listed, out);
            }
        }
        if (process.membershipBy() != MembershipSource.ENVIRON) {
            out.writeStringField("by", process.membershipBy().label());
        }
        writeArray("usage", process.usage(), HostChangeJson::writeUsage, out);
        var immunity = process.immunity();
        if (immunity != null) {
            out.writeStringField("immune", RecordFields.label(immunity.kind()));
            out.writeStringField("why", immunity.reason());
        }
        out.writeEndObject();
    }

    private static void writeEnvironment(Environment environment, JsonGenerator out) throws IOException {
        out.writeStartObject();
        out.writeStringField("eid", environment.eid());
        writeNumber("uid", environment.uid(), out);
        writeText("user", environment.username(), out);
        out.writeStringField("creation", environment.creation());
        writeText("name", environment.config().name(), out);
        writeText("memory", environment.config().gpuMemory(), out);
        writeNumber("gpus", environment.config().gpus(), out);
        writeFilled("pids", environment.pids(), HostChangeJson::writeNumber, out);
        writeFilled("kernels", environment.kernelIds(), HostChangeJson::writeText, out);
        var ownership = environment.ownership();
        writeText("dispute", ownership.dispute(), out);
        writeFlag("exempt", ownership.exempt(), out);
        writeFilled("uids", ownership.uids().stream().sorted().toList(), HostChangeJson::writeNumber, out);
        writeText("account", ownership.account(), out);
        out.writeEndObject();
    }

    /** Each attachment is an array of the environment, the requested memory and the time. */
    private static void writeDevice(Device device, JsonGenerator out) throws IOException {
        out.writeStartObject();
        out.writeNumberField("index", device.index());
        writeText("total", device.totalMemory(), out);
        out.writeArrayFieldStart("attached");
        for (var attachment : device.attachments()) {
            out.writeStartArray();
            out.writeString(attachment.eid());
            out.writeString(attachment.gpuMemory());
            out.writeString(attachment.time());
            out.writeEndArray();
        }
        out.writeEndArray();
        out.writeEndObject();
    }

    /**
     * Reads what {@link #writeFields} wrote.
     *
     * @throws UnreadableException if a field has another form
     */
    public static HostChange read(JsonNode json) throws UnreadableException {
        var fields = new RecordFields(json);
        var uids = new LinkedHashMap<Integer, Long>();
        for (var entry : fields.list("uids", entry -> entry)) {
            uids.put(RecordFields.integer(entry.path(0)), RecordFields.number(entry.path(1)));
        }
        return new HostChange(
                new ProcessChange(
                        change(
                                fields,
                                "processes",
                                HostChangeJson::readProcess,
                                GpuProcess::id,
                                HostChangeJson::readId),
                        fields.list("memory", HostChangeJson::readUse)),
                change(
                        fields,
                        "unlisted",
                        HostChangeJson::readHolder,
                        holder -> holder.process().id(),
                        HostChangeJson::readId),
                change(fields, "environments", HostChangeJson::readEnvironment, Environment::eid, RecordFields::text),
                change(fields, "devices", HostChangeJson::readDevice, Device::index, RecordFields::integer),
                new MapChange<>(uids, fields.set("uids_gone", RecordFields::integer)),
                fields.has("listed")
                        ? Optional.of(Set.copyOf(fields.set("listed", RecordFields::integer)))
                        : Optional.empty(),
                fields.has("subuids")
                        ? Optional.of(List.copyOf(fields.list("subuids", HostChangeJson::readRange)))
                        : Optional.empty(),
                fields.has("missing")
                        ? Optional.of(new Unobserved(readParts(fields, "missing"), readParts(fields, "hidden")))
                        : Optional.empty());
    }

    private static <K, V> MapChange<K, V> change(
            RecordFields fields, String name, Reader<V> reader, Function<V, K> key, Reader<K> removed)
            throws UnreadableException {
        var put = new LinkedHashMap<K, V>();
        for (var each : fields.list(name, reader)) {
            put.put(key.apply(each), each);
        }
        return new MapChange<>(put, fields.set(name + "_gone", removed));
    }

    private static Set<SnapshotPart> readParts(RecordFields fields, String name) throws UnreadableException {
        return Set.copyOf(
                fields.set(name, label -> RecordFields.constant(SnapshotPart.class, RecordFields.text(label))));
    }

    private static ProcessId readId(JsonNode array) throws UnreadableException {
        return new ProcessId(RecordFields.integer(array.path(0)), RecordFields.number(array.path(1)));
    }

    private static Unlisted.Holder readHolder(JsonNode json) throws UnreadableException {
        var fields = new RecordFields(json);
        return new Unlisted.Holder(
                readProcess(json.path("process")),
                fields.number("since"),
                List.copyOf(fields.list("used", RecordFields::integer)));
    }

    private static MemoryUse readUse(JsonNode array) throws UnreadableException {
        return new MemoryUse(readId(array), RecordFields.integer(array.path(2)), readMemory(array.path(3)));
    }

    private static @Nullable Memory readMemory(JsonNode bytes) throws UnreadableException {
        if (bytes.isNull()) {
            return null;
        }
        var number = RecordFields.number(bytes);
        if (number < 0) {
            throw new UnreadableException("has a negative memory");
        }
        return new Memory(number);
    }

    private static SubordinateUids.Range readRange(JsonNode array) throws UnreadableException {
        return new SubordinateUids.Range(
                RecordFields.number(array.path(0)),
                RecordFields.number(array.path(1)),
                RecordFields.number(array.path(2)));
    }

    private static GpuProcess readProcess(JsonNode json) throws UnreadableException {
        var fields = new RecordFields(json);
        var by = fields.textOrNull("by");
        var immunity = fields.textOrNull("immune");
        return new GpuProcess(
                new ProcessId(fields.integer("pid"), fields.number("start")),
                fields.longOrNull("uid"),
                fields.text("command"),
                readMembership(fields),
                by == null ? MembershipSource.ENVIRON : RecordFields.constant(MembershipSource.class, by),
                fields.list(
                        "usage",
                        entry -> new DeviceUsage(RecordFields.integer(entry.path(0)), readMemory(entry.path(1)))),
                immunity == null
                        ? null
                        : new Immunity(RecordFields.constant(Immunity.Kind.class, immunity), fields.text("why")),
                null,
                fields.textOrNull("account"));
    }

    private static Membership readMembership(RecordFields fields) throws UnreadableException {
        var eid = fields.textOrNull("eid");
        if (eid != null) {
            return new Membership.InEnvironment(eid);
        }
        var unknown = fields.textOrNull("unknown");
        return unknown == null ? new Membership.Outside() : new Membership.Unknown(unknown, fields.flag("listed"));
    }

    private static Environment readEnvironment(JsonNode json) throws UnreadableException {
        var fields = new RecordFields(json);
        return new Environment(
                fields.text("eid"),
                fields.longOrNull("uid"),
                fields.textOrNull("user"),
                fields.text("creation"),
                new Environment.Config(
                        fields.textOrNull("name"),
                        fields.textOrNull("memory"),
                        fields.has("gpus") ? Integer.valueOf(fields.integer("gpus")) : null),
                fields.list("pids", RecordFields::integer),
                fields.list("kernels", RecordFields::text),
                new Ownership(
                        fields.textOrNull("dispute"),
                        fields.flag("exempt"),
                        fields.set("uids", RecordFields::number),
                        fields.textOrNull("account")));
    }

    private static Device readDevice(JsonNode json) throws UnreadableException {
        var fields = new RecordFields(json);
        return new Device(
                fields.integer("index"),
                fields.textOrNull("total"),
                fields.list(
                        "attached",
                        entry -> new Attachment(
                                RecordFields.text(entry.path(0)),
                                RecordFields.textOrNull(entry.path(1)),
                                RecordFields.textOrNull(entry.path(2)))));
    }
}

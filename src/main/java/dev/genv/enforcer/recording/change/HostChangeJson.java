package dev.genv.enforcer.recording.change;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.model.Unlisted;
import dev.genv.enforcer.recording.change.HostChange.Unobserved;
import dev.genv.enforcer.recording.change.ProcessChange.MemoryUse;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/** The change of a host as fields of an object. What did not change is absent; {@code x_gone} are the keys of what was removed. */
public final class HostChangeJson {
    private HostChangeJson() {}

    /** Writes the fields into the present object. */
    public static void writeFields(HostChange change, JsonGenerator out) throws IOException {
        write("processes", change.processes().whole(), ProcessJson::write, HostChangeJson::writeId, out);
        write("unlisted", change.holders(), HostChangeJson::write, HostChangeJson::writeId, out);
        writeArray("memory", change.processes().memory(), HostChangeJson::write, out);
        write("environments", change.environments(), EnvironmentJson::write, (eid, to) -> to.writeString(eid), out);
        write("devices", change.devices(), DeviceJson::write, (index, to) -> to.writeNumber(index), out);
        writeArray("uids", change.uidsOfPids().put().entrySet(), HostChangeJson::write, out);
        writeArray("uids_gone", change.uidsOfPids().removed(), (pid, to) -> to.writeNumber(pid), out);
        if (change.listedDevices().isPresent()) {
            out.writeArrayFieldStart("listed");
            for (var index : change.listedDevices().get().stream().sorted().toList()) {
                out.writeNumber(index);
            }
            out.writeEndArray();
        }
        if (change.subordinateUids().isPresent()) {
            out.writeArrayFieldStart("subuids");
            for (var range : change.subordinateUids().get()) {
                write(range, out);
            }
            out.writeEndArray();
        }
        if (change.unobserved().isPresent()) {
            write("missing", change.unobserved().get().missing(), out);
            write("hidden", change.unobserved().get().hidden(), out);
        }
    }

    private interface Writer<T> {
        void write(T value, JsonGenerator out) throws IOException;
    }

    private interface Reader<T> {
        T read(JsonNode json) throws UnreadableException;
    }

    private static <K, V> void write(
            String name, MapChange<K, V> change, Writer<V> writer, Writer<K> removed, JsonGenerator out)
            throws IOException {
        writeArray(name, change.put().values(), writer, out);
        writeArray(name + "_gone", change.removed(), removed, out);
    }

    private static <T> void writeArray(String name, Collection<T> all, Writer<T> writer, JsonGenerator out)
            throws IOException {
        if (!all.isEmpty()) {
            out.writeArrayFieldStart(name);
            for (var each : all) {
                writer.write(each, out);
            }
            out.writeEndArray();
        }
    }

    private static void writeId(ProcessId id, JsonGenerator out) throws IOException {
        out.writeStartArray();
        out.writeNumber(id.pid());
        out.writeNumber(id.startTime());
        out.writeEndArray();
    }

    private static void write(Unlisted.Holder holder, JsonGenerator out) throws IOException {
        out.writeStartObject();
        out.writeNumberField("since", holder.since());
        out.writeArrayFieldStart("used");
        for (var device : holder.used()) {
            out.writeNumber(device);
        }
        out.writeEndArray();
        out.writeFieldName("process");
        ProcessJson.write(holder.process(), out);
        out.writeEndObject();
    }

    private static void write(MemoryUse use, JsonGenerator out) throws IOException {
        out.writeStartArray();
        out.writeNumber(use.process().pid());
        out.writeNumber(use.process().startTime());
        out.writeNumber(use.device());
        ProcessJson.writeMemory(use.memory(), out);
        out.writeEndArray();
    }

    private static void write(Map.Entry<Integer, Long> uidOfPid, JsonGenerator out) throws IOException {
        out.writeStartArray();
        out.writeNumber(uidOfPid.getKey());
        out.writeNumber(uidOfPid.getValue());
        out.writeEndArray();
    }

    private static void write(SubordinateUids.Range range, JsonGenerator out) throws IOException {
        out.writeStartArray();
        out.writeNumber(range.owner());
        out.writeNumber(range.first());
        out.writeNumber(range.count());
        out.writeEndArray();
    }

    private static void write(String name, Set<SnapshotPart> parts, JsonGenerator out) throws IOException {
        out.writeArrayFieldStart(name);
        for (var part : parts.stream().sorted().toList()) {
            out.writeString(RecordFields.label(part));
        }
        out.writeEndArray();
    }

    /**
     * Reads what {@link #writeFields} wrote.
     *
     * @throws UnreadableException if a field has another form
     */
    public static HostChange read(JsonNode json) throws UnreadableException {
        var fields = new RecordFields(json);
        var uids = new LinkedHashMap<Integer, Long>();
        for (var entry : fields.array("uids")) {
            uids.put(RecordFields.integer(entry.path(0)), RecordFields.number(entry.path(1)));
        }
        return new HostChange(
                new ProcessChange(
                        change(fields, "processes", ProcessJson::read, GpuProcess::id, HostChangeJson::readId),
                        list(fields, "memory", HostChangeJson::readUse)),
                change(
                        fields,
                        "unlisted",
                        HostChangeJson::readHolder,
                        holder -> holder.process().id(),
                        HostChangeJson::readId),
                change(fields, "environments", EnvironmentJson::read, Environment::eid, HostChangeJson::readText),
                change(fields, "devices", DeviceJson::read, Device::index, RecordFields::integer),
                new MapChange<>(uids, set(fields, "uids_gone", RecordFields::integer)),
                fields.has("listed")
                        ? Optional.of(Set.copyOf(set(fields, "listed", RecordFields::integer)))
                        : Optional.empty(),
                fields.has("subuids")
                        ? Optional.of(List.copyOf(list(fields, "subuids", HostChangeJson::readRange)))
                        : Optional.empty(),
                fields.has("missing")
                        ? Optional.of(new Unobserved(parts(fields, "missing"), parts(fields, "hidden")))
                        : Optional.empty());
    }

    private static <K, V> MapChange<K, V> change(
            RecordFields fields, String name, Reader<V> reader, Function<V, K> key, Reader<K> removed)
            throws UnreadableException {
        var put = new LinkedHashMap<K, V>();
        for (var each : list(fields, name, reader)) {
            put.put(key.apply(each), each);
        }
        return new MapChange<>(put, set(fields, name + "_gone", removed));
    }

    private static <T> List<T> list(RecordFields fields, String name, Reader<T> reader) throws UnreadableException {
        var all = new ArrayList<T>();
        for (var each : fields.array(name)) {
            all.add(reader.read(each));
        }
        return all;
    }

    private static <T> Set<T> set(RecordFields fields, String name, Reader<T> reader) throws UnreadableException {
        return new LinkedHashSet<>(list(fields, name, reader));
    }

    private static Set<SnapshotPart> parts(RecordFields fields, String name) throws UnreadableException {
        var parts = new HashSet<SnapshotPart>();
        for (var label : set(fields, name, HostChangeJson::readText)) {
            parts.add(RecordFields.constant(SnapshotPart.class, label));
        }
        return parts.isEmpty() ? Set.of() : Set.copyOf(EnumSet.copyOf(parts));
    }

    private static String readText(JsonNode node) throws UnreadableException {
        var text = RecordFields.textOrNull(node);
        if (text == null) {
            throw new UnreadableException("has no text where one is expected");
        }
        return text;
    }

    private static ProcessId readId(JsonNode array) throws UnreadableException {
        return new ProcessId(RecordFields.integer(array.path(0)), RecordFields.number(array.path(1)));
    }

    private static Unlisted.Holder readHolder(JsonNode json) throws UnreadableException {
        var fields = new RecordFields(json);
        return new Unlisted.Holder(
                ProcessJson.read(json.path("process")),
                fields.number("since"),
                List.copyOf(list(fields, "used", RecordFields::integer)));
    }

    private static MemoryUse readUse(JsonNode array) throws UnreadableException {
        return new MemoryUse(readId(array), RecordFields.integer(array.path(2)), ProcessJson.readMemory(array.path(3)));
    }

    private static SubordinateUids.Range readRange(JsonNode array) throws UnreadableException {
        return new SubordinateUids.Range(
                RecordFields.number(array.path(0)),
                RecordFields.number(array.path(1)),
                RecordFields.number(array.path(2)));
    }
}

package dev.genv.enforcer.recording.change;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Ownership;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** An environment as JSON. A field that is absent is null or empty. */
final class EnvironmentJson {
    private EnvironmentJson() {}

    static void write(Environment environment, JsonGenerator out) throws IOException {
        out.writeStartObject();
        out.writeStringField("eid", environment.eid());
        write("uid", environment.uid(), out);
        write("user", environment.username(), out);
        out.writeStringField("creation", environment.creation());
        write("name", environment.config().name(), out);
        write("memory", environment.config().gpuMemory(), out);
        write("gpus", environment.config().gpus(), out);
        if (!environment.pids().isEmpty()) {
            out.writeArrayFieldStart("pids");
            for (var pid : environment.pids()) {
                out.writeNumber(pid);
            }
            out.writeEndArray();
        }
        if (!environment.kernelIds().isEmpty()) {
            out.writeArrayFieldStart("kernels");
            for (var kernel : environment.kernelIds()) {
                out.writeString(kernel);
            }
            out.writeEndArray();
        }
        write(environment.ownership(), out);
        out.writeEndObject();
    }

    private static void write(Ownership ownership, JsonGenerator out) throws IOException {
        write("dispute", ownership.dispute(), out);
        writeFlag("exempt", ownership.exempt(), out);
        if (!ownership.uids().isEmpty()) {
            out.writeArrayFieldStart("uids");
            for (var uid : ownership.uids().stream().sorted().toList()) {
                out.writeNumber(uid);
            }
            out.writeEndArray();
        }
        write("account", ownership.account(), out);
    }

    private static void write(String name, @Nullable String value, JsonGenerator out) throws IOException {
        if (value != null) {
            out.writeStringField(name, value);
        }
    }

    private static void write(String name, @Nullable Number value, JsonGenerator out) throws IOException {
        if (value != null) {
            out.writeNumberField(name, value.longValue());
        }
    }

    private static void writeFlag(String name, boolean value, JsonGenerator out) throws IOException {
        if (value) {
            out.writeBooleanField(name, true);
        }
    }

    static Environment read(JsonNode json) throws UnreadableException {
        var fields = new RecordFields(json);
        return new Environment(
                fields.text("eid"),
                fields.longOrNull("uid"),
                fields.textOrNull("user"),
                fields.text("creation"),
                new Environment.Config(
                        fields.textOrNull("name"), fields.textOrNull("memory"), fields.integerOrNull("gpus")),
                pids(fields),
                kernels(fields),
                ownership(fields));
    }

    private static List<Integer> pids(RecordFields fields) throws UnreadableException {
        var pids = new ArrayList<Integer>();
        for (var pid : fields.array("pids")) {
            pids.add(RecordFields.integer(pid));
        }
        return pids;
    }

    private static List<String> kernels(RecordFields fields) throws UnreadableException {
        var kernels = new ArrayList<String>();
        for (var kernel : fields.array("kernels")) {
            var id = RecordFields.textOrNull(kernel);
            if (id == null) {
                throw new UnreadableException("has a kernel without an id");
            }
            kernels.add(id);
        }
        return kernels;
    }

    private static Ownership ownership(RecordFields fields) throws UnreadableException {
        var uids = new HashSet<Long>();
        for (var uid : fields.array("uids")) {
            uids.add(RecordFields.number(uid));
        }
        return new Ownership(fields.textOrNull("dispute"), fields.flag("exempt"), uids, fields.textOrNull("account"));
    }
}

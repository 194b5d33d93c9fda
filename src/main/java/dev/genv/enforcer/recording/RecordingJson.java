package dev.genv.enforcer.recording;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** Writes records as a stream: a tree of a large state would need many times the memory of the state. */
final class RecordingJson {
    private static final JsonFactory FACTORY =
            JsonFactory.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();

    private RecordingJson() {}

    /** Writes the fields of one object. */
    interface Fields {
        void write(JsonGenerator out) throws IOException;
    }

    static void write(OutputStream to, Fields fields) throws IOException {
        try (var out = FACTORY.createGenerator(to)) {
            out.writeStartObject();
            fields.write(out);
            out.writeEndObject();
        }
    }

    /** Returns a small object. */
    static String write(Fields fields) {
        var bytes = new ByteArrayOutputStream();
        try {
            write(bytes, fields);
        } catch (IOException e) {
            throw new UncheckedIOException(e); // nothing fails in memory
        }
        return bytes.toString(StandardCharsets.US_ASCII);
    }
}

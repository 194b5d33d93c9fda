package dev.genv.enforcer.recording;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import dev.genv.enforcer.genv.BoundedOutput;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** Writes records as a stream: a tree of a large state would need many times the memory of the state. */
final class RecordingJson {
    private static final JsonFactory FACTORY =
            JsonFactory.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();

    private RecordingJson() {}

    /** Writes the fields of one object. */
    interface Fields {
        void write(JsonGenerator out) throws IOException;
    }

    /** Returns a small object. */
    static String write(Fields fields) {
        return write(Integer.MAX_VALUE, fields).orElseThrow();
    }

    /** Returns an object; empty if it would be larger than this. */
    static Optional<String> write(int maxBytes, Fields fields) {
        var bytes = new BoundedOutput(maxBytes);
        try (var out = FACTORY.createGenerator(bytes)) {
            out.writeStartObject();
            fields.write(out);
            out.writeEndObject();
        } catch (BoundedOutput.FullException e) {
            return Optional.empty();
        } catch (IOException e) {
            throw new UncheckedIOException(e); // nothing else fails in memory
        }
        return Optional.of(new String(bytes.toByteArray(), StandardCharsets.US_ASCII));
    }
}

package dev.genv.enforcer.testsupport;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.util.TokenBuffer;
import java.io.IOException;
import java.io.UncheckedIOException;

/** The JSON of a streaming writer as a tree. */
public final class JsonTree {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private JsonTree() {}

    /** Writes one value. */
    public interface Writer {
        void write(JsonGenerator out) throws IOException;
    }

    public static JsonNode of(Writer writer) {
        try (var buffer = new TokenBuffer(MAPPER, false)) {
            writer.write(buffer);
            return MAPPER.readTree(buffer.asParser());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

package dev.genv.enforcer.format;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.core.io.JsonEOFException;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import com.fasterxml.jackson.core.util.Separators;
import com.fasterxml.jackson.core.util.Separators.Spacing;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectWriter;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.exc.MismatchedInputException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** JSON as Python's {@code json.dumps} writes it, byte for byte; read with limits. */
public final class GenvJson {
    /** genv's own files are five levels deep. */
    private static final int DEEPEST = 64;
    /** In the form from before genv 0.9.0, ids are names; no longer one is taken for an id. */
    private static final int LONGEST_NAME = Fields.LONGEST_TEXT;
    /** Of heap. An environment takes 2 KiB of it. */
    private static final long MOST_BYTES = 24L << 20;
    /** For the snapshots of a whole fleet. */
    private static final long MOST_BYTES_OF_A_FLEET = 10 * MOST_BYTES;

    private static final ObjectMapper MAPPER = mapper();
    private static final ObjectWriter WRITER = MAPPER.writer(pythonsForm()).with(new DeleteEscaped());
    private static final ObjectWriter LINE_WRITER = MAPPER.writer(pythonsLine()).with(new DeleteEscaped());

    private GenvJson() {}

    /**
     * Reads one JSON value and nothing behind it.
     *
     * @throws UnreadableException where it is none, is not UTF-8, or is too deep or too large; it quotes nothing of what
     *     was read, which may be a secret in the wrong place
     */
    public static JsonNode read(byte[] bytes) throws UnreadableException {
        return read(new ByteArrayInputStream(bytes), MOST_BYTES).orElseThrow(() -> new UnreadableException("is empty"));
    }

    /** The same, for what may be as long as the snapshots of a whole fleet; nothing where there is no JSON value at all. */
    public static Optional<JsonNode> readFleet(InputStream json) throws UnreadableException {
        return read(json, MOST_BYTES_OF_A_FLEET);
    }

    private static Optional<JsonNode> read(InputStream json, long mostBytes) throws UnreadableException {
        // Decoded as it is read: a copy of the whole text would take up to four times as much as the bytes.
        var text = new InputStreamReader(json, StandardCharsets.UTF_8.newDecoder());
        try (var parser = new MemoryLimitedParser(MAPPER.createParser(text), mostBytes)) {
            return Optional.ofNullable(MAPPER.<JsonNode>readTree(parser)).filter(node -> !node.isMissingNode());
        } catch (StreamConstraintsException e) {
            throw new UnreadableException("is too large: " + e.getOriginalMessage() + place(e.getLocation()));
        } catch (JsonProcessingException e) {
            throw new UnreadableException("is not JSON: " + kind(e) + place(e.getLocation()));
        } catch (IOException e) {
            throw new UnreadableException("is not UTF-8");
        }
    }

    private static String kind(JsonProcessingException e) {
        return switch (e) {
            case JsonEOFException _ -> "it ends too early";
            case MismatchedInputException _ -> "something stands behind its end";
            default -> "what stands there is not understood";
        };
    }

    private static String place(@Nullable JsonLocation location) {
        return location == null || location.getLineNr() < 1
                ? ""
                : " (line %d, column %d)".formatted(location.getLineNr(), location.getColumnNr());
    }

    /** Writes in the form of genv's files: without a newline at the end, as genv does it. */
    public static byte[] write(JsonNode node) {
        return write(node, WRITER);
    }

    /**
     * The same, of bounded length: a letter that was one byte may become six.
     *
     * @throws UnreadableException where there would be more bytes; a file that is larger could not be read again
     */
    public static byte[] write(JsonNode node, int mostBytes) throws UnreadableException {
        try (var out = new BoundedOutput(mostBytes)) {
            WRITER.writeValue(out, node);
            return out.toByteArray();
        } catch (IOException e) {
            throw new UnreadableException("would become larger than %d bytes".formatted(mostBytes));
        }
    }

    /** Writes as Python's {@code json.dumps(…)} does: one line, in ASCII, without a newline at the end. */
    public static String writeLine(JsonNode node) {
        return new String(write(node, LINE_WRITER), StandardCharsets.US_ASCII);
    }

    private static byte[] write(JsonNode node, ObjectWriter writer) {
        try {
            return writer.writeValueAsBytes(node);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("a tree that was read cannot be written", e);
        }
    }

    private static ObjectMapper mapper() {
        return JsonMapper.builder(JsonFactory.builder()
                        .streamReadConstraints(StreamReadConstraints.builder()
                                .maxNestingDepth(DEEPEST)
                                .maxNameLength(LONGEST_NAME)
                                .build())
                        // Names would be kept for good, and users choose them.
                        .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
                        .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
                        .enable(JsonWriteFeature.ESCAPE_NON_ASCII)
                        .disable(JsonWriteFeature.WRITE_HEX_UPPER_CASE)
                        .build())
                .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
                .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
                .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
                .build();
    }

    private static DefaultPrettyPrinter pythonsForm() {
        var indenter = new DefaultIndenter("  ", "\n");
        return new DefaultPrettyPrinter(separators())
                .withArrayIndenter(indenter)
                .withObjectIndenter(indenter);
    }

    private static DefaultPrettyPrinter pythonsLine() {
        var separators = separators().withObjectEntrySpacing(Spacing.AFTER).withArrayValueSpacing(Spacing.AFTER);
        return new DefaultPrettyPrinter(separators).withArrayIndenter(null).withObjectIndenter(null);
    }

    private static Separators separators() {
        return Separators.createDefaultInstance()
                .withObjectFieldValueSpacing(Spacing.AFTER)
                .withObjectEmptySeparator("")
                .withArrayEmptySeparator("");
    }
}

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
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** JSON as Python's {@code json.dumps} writes it, byte for byte; read with limits. */
public final class GenvJson {
    /** genv's own files are five levels deep. */
    private static final int DEEPEST = 64;
    /** An environment has about 30 of them. Without a bound, 16 MiB of the smallest entries become a gigabyte of objects. */
    private static final int MOST_TOKENS = 1_000_000;
    /** For the snapshots of a whole fleet. */
    private static final int MOST_TOKENS_OF_A_FLEET = 8_000_000;

    private static final ObjectMapper MAPPER = mapper(MOST_TOKENS);
    private static final ObjectMapper FLEET_MAPPER = mapper(MOST_TOKENS_OF_A_FLEET);
    private static final ObjectWriter WRITER = MAPPER.writer(pythonsForm()).with(new DeleteEscaped());
    private static final ObjectWriter LINE_WRITER = MAPPER.writer(pythonsLine()).with(new DeleteEscaped());

    private GenvJson() {}

    /**
     * Reads one JSON value and nothing behind it.
     *
     * @throws UnreadableException where it is none, is not UTF-8, or is too deep or too long; it quotes nothing of what
     *     was read, which may be a secret in the wrong place
     */
    public static JsonNode read(byte[] bytes) throws UnreadableException {
        return read(bytes, MAPPER);
    }

    /** The same, for what may be as long as the snapshots of a whole fleet. */
    public static JsonNode readFleet(byte[] bytes) throws UnreadableException {
        return read(bytes, FLEET_MAPPER);
    }

    private static JsonNode read(byte[] bytes, ObjectMapper mapper) throws UnreadableException {
        String text;
        try {
            text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString();
        } catch (CharacterCodingException e) {
            throw new UnreadableException("is not UTF-8");
        }
        try {
            var node = mapper.readTree(text);
            if (node == null || node.isMissingNode()) {
                throw new UnreadableException("is empty");
            }
            return node;
        } catch (JsonProcessingException e) {
            throw new UnreadableException("is not JSON: " + kind(e) + place(e.getLocation()));
        }
    }

    private static String kind(JsonProcessingException e) {
        return switch (e) {
            case StreamConstraintsException limit -> limit.getOriginalMessage();
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

    private static ObjectMapper mapper(int mostTokens) {
        return JsonMapper.builder(JsonFactory.builder()
                        .streamReadConstraints(StreamReadConstraints.builder()
                                .maxNestingDepth(DEEPEST)
                                .maxTokenCount(mostTokens)
                                .build())
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

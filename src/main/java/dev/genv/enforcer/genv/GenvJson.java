package dev.genv.enforcer.genv;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.SerializableString;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.core.io.CharacterEscapes;
import com.fasterxml.jackson.core.io.JsonEOFException;
import com.fasterxml.jackson.core.io.SerializedString;
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
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** JSON as Python's {@code json.dumps} writes it, byte for byte; read with limits. */
public final class GenvJson {
    /** genv's own files are five levels deep. */
    private static final int DEEPEST = 64;
    /** genv's own names are short. */
    private static final int LONGEST_NAME = Entries.Fields.LONGEST_TEXT;
    /** The heap limit of a parsed state file. An environment takes 2 KiB. */
    private static final long MAX_BYTES = 24L << 20;

    private static final ObjectMapper MAPPER = mapper();
    private static final ObjectWriter WRITER = MAPPER.writer(fileWriter()).with(new PythonEscapes());

    private GenvJson() {}

    /**
     * Parses one JSON value without trailing content.
     *
     * @throws UnreadableException if the text is no JSON, not UTF-8, or too deep or too large; the message quotes nothing of it, because
     *     it may be a misplaced secret
     */
    public static JsonNode read(byte[] bytes) throws UnreadableException {
        return readUpTo(MAX_BYTES, new ByteArrayInputStream(bytes))
                .orElseThrow(() -> new UnreadableException("is empty"));
    }

    /**
     * The same with another limit; empty if there is no JSON value.
     *
     * @throws UnreadableException.TooLarge if the values would take more bytes of heap
     */
    public static Optional<JsonNode> readUpTo(long maxBytes, InputStream json) throws UnreadableException {
        // Decoded while it is read: a copy of the whole text would need up to four times the memory of the bytes.
        var text = new InputStreamReader(json, StandardCharsets.UTF_8.newDecoder());
        try (var parser = new TreeLimitedParser(MAPPER.createParser(text), maxBytes)) {
            return Optional.ofNullable(MAPPER.<JsonNode>readTree(parser)).filter(node -> !node.isMissingNode());
        } catch (MemoryLimitedParser.LimitException e) {
            throw new UnreadableException.TooLarge(
                    "is too large: " + e.getOriginalMessage() + position(e.getLocation()));
        } catch (StreamConstraintsException e) {
            throw new UnreadableException("is too large: " + e.getOriginalMessage() + position(e.getLocation()));
        } catch (JsonProcessingException e) {
            var why = switch (e) {
                case JsonEOFException _ -> "it ends too early";
                case MismatchedInputException _ -> "text follows its end";
                default -> "unexpected text";
            };
            throw new UnreadableException("is not JSON: " + why + position(e.getLocation()));
        } catch (CharacterCodingException e) {
            throw new UnreadableException("is not UTF-8");
        } catch (IOException e) {
            throw new UnreadableException("did not arrive");
        }
    }

    private static String position(@Nullable JsonLocation location) {
        return location == null || location.getLineNr() < 1
                ? ""
                : " (line %d, column %d)".formatted(location.getLineNr(), location.getColumnNr());
    }

    /** Writes the form of genv's files, without a newline at the end. */
    public static byte[] write(JsonNode node) {
        try {
            return WRITER.writeValueAsBytes(node);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("a tree that was read cannot be written", e);
        }
    }

    /** Returns a parser of a text that was read, so that its limits are kept. */
    static JsonParser parser(String text) throws IOException {
        return MAPPER.createParser(text);
    }

    private static ObjectMapper mapper() {
        return JsonMapper.builder(JsonFactory.builder()
                        .streamReadConstraints(StreamReadConstraints.builder()
                                .maxNestingDepth(DEEPEST)
                                .maxNameLength(LONGEST_NAME)
                                .build())
                        // Jackson would keep the names forever, and users choose them.
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

    private static DefaultPrettyPrinter fileWriter() {
        var indenter = new DefaultIndenter("  ", "\n");
        var separators = Separators.createDefaultInstance()
                .withObjectFieldValueSpacing(Spacing.AFTER)
                .withObjectEmptySeparator("")
                .withArrayEmptySeparator("");
        return new DefaultPrettyPrinter(separators).withArrayIndenter(indenter).withObjectIndenter(indenter);
    }

    /**
     * Estimates the heap of a JSON tree. Three bytes of a file can become an object of 160 bytes, so the size of the file is no limit.
     */
    private static final class TreeLimitedParser extends MemoryLimitedParser {
        private static final int BYTES_PER_CHAR = 2;

        TreeLimitedParser(JsonParser parser, long maxBytes) {
            super(parser, maxBytes);
        }

        @Override
        protected long size(JsonToken token) throws IOException {
            return switch (token) {
                case START_OBJECT -> 160; // a node with its map and the map's first table
                case START_ARRAY -> 104; // a node with its list and the list's first array
                case FIELD_NAME -> 96 + BYTES_PER_CHAR * (long) getTextLength(); // an entry of a map with its key
                case VALUE_STRING -> 64 + BYTES_PER_CHAR * (long) getTextLength(); // a node with its slot in a list
                case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> 24 + (long) getTextLength(); // the same
                default -> 8; // a slot in a list
            };
        }
    }

    /** Escapes DEL like Python; Jackson does not escape it. */
    public static final class PythonEscapes extends CharacterEscapes {
        private static final long serialVersionUID = 1L;
        private static final int DELETE = 0x7f;
        private static final SerializedString ESCAPED = new SerializedString("\\u007f");

        @Override
        public int[] getEscapeCodesForAscii() {
            var codes = standardAsciiEscapesForJSON();
            codes[DELETE] = ESCAPE_CUSTOM;
            return codes;
        }

        @Override
        public @Nullable SerializableString getEscapeSequence(int character) {
            return character == DELETE ? ESCAPED : null;
        }
    }
}

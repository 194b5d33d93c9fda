package dev.genv.enforcer.format;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.core.util.JsonParserDelegate;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * Estimates how many bytes of heap the tree takes that is made of the tokens, and fails before there are too many. Three
 * bytes of a file can become an object of 160, so the size of a file bounds nothing.
 */
final class MemoryLimitedParser extends JsonParserDelegate {
    /** A node with its map and the first table of that. */
    private static final int OBJECT = 160;
    /** A node with its list and the first array of that. */
    private static final int ARRAY = 104;
    /** An entry of a map, with the string that is its key. */
    private static final int FIELD = 96;
    /** A node with its string and its place in a list. */
    private static final int STRING = 64;
    /** A node with its number and its place in a list. */
    private static final int NUMBER = 24;
    /** A place in a list. */
    private static final int OTHER = 8;

    private static final int BYTES_PER_CHAR = 2;
    private static final int MEBIBYTE = 1 << 20;

    private final long mostBytes;
    private long bytes;

    MemoryLimitedParser(JsonParser parser, long mostBytes) {
        super(parser);
        this.mostBytes = mostBytes;
    }

    @Override
    public @Nullable JsonToken nextToken() throws IOException {
        var token = super.nextToken();
        if (token != null) {
            bytes += size(token);
            if (bytes > mostBytes) {
                throw new StreamConstraintsException(
                        "it would take more than %d MiB of memory".formatted(mostBytes / MEBIBYTE), currentLocation());
            }
        }
        return token;
    }

    private long size(JsonToken token) throws IOException {
        return switch (token) {
            case START_OBJECT -> OBJECT;
            case START_ARRAY -> ARRAY;
            case FIELD_NAME -> FIELD + BYTES_PER_CHAR * (long) getTextLength();
            case VALUE_STRING -> STRING + BYTES_PER_CHAR * (long) getTextLength();
            case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> NUMBER + (long) getTextLength();
            default -> OTHER;
        };
    }
}

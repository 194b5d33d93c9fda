package dev.genv.enforcer.format.json;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;

/**
 * Estimates the heap of a JSON tree. Three bytes of a file can become an object of 160 bytes, so the size of the file is no limit.
 */
final class TreeLimitedParser extends MemoryLimitedParser {
    /** An object node with its map and the map's first table. */
    private static final int OBJECT = 160;
    /** An array node with its list and the list's first array. */
    private static final int ARRAY = 104;
    /** A map entry with its key. */
    private static final int FIELD = 96;
    /** A text node with its string and its list slot. */
    private static final int STRING = 64;
    /** A number node with its number and its list slot. */
    private static final int NUMBER = 24;
    /** A list slot. */
    private static final int OTHER = 8;

    private static final int BYTES_PER_CHAR = 2;

    TreeLimitedParser(JsonParser parser, long maxBytes) {
        super(parser, maxBytes);
    }

    @Override
    protected long size(JsonToken token) throws IOException {
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

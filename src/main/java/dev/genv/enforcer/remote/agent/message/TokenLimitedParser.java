package dev.genv.enforcer.remote.agent.message;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import dev.genv.enforcer.format.json.MemoryLimitedParser;

/**
 * Estimates the heap of the records of an answer. Texts count as objects only, because all
 * their characters together are limited by the length of the answer.
 */
final class TokenLimitedParser extends MemoryLimitedParser {
    /** A record and its slot in a list. */
    private static final int OBJECT = 64;
    /** A list with its array. */
    private static final int ARRAY = 80;
    /** A text with its array and its entry in a set. */
    private static final int STRING = 120;
    /** A boxed number. */
    private static final int NUMBER = 24;

    TokenLimitedParser(JsonParser parser, long maxBytes) {
        super(parser, maxBytes);
    }

    @Override
    protected long size(JsonToken token) {
        return switch (token) {
            case START_OBJECT -> OBJECT;
            case START_ARRAY -> ARRAY;
            case VALUE_STRING -> STRING;
            case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> NUMBER;
            default -> 0;
        };
    }
}

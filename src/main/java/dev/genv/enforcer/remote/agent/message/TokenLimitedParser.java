package dev.genv.enforcer.remote.agent.message;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.core.util.JsonParserDelegate;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * Estimates the heap of the records from the tokens of their JSON, and fails above a limit. Texts count as objects only, because all
 * their characters together are limited by the length of the answer.
 */
final class TokenLimitedParser extends JsonParserDelegate {
    /** A record and its slot in a list. */
    private static final int OBJECT = 64;
    /** A list with its array. */
    private static final int ARRAY = 80;
    /** A text with its array and its entry in a set. */
    private static final int STRING = 120;
    /** A boxed number. */
    private static final int NUMBER = 24;

    private static final int MEBIBYTE = 1 << 20;

    private final long maxBytes;
    private long bytes;

    TokenLimitedParser(JsonParser parser, long maxBytes) {
        super(parser);
        this.maxBytes = maxBytes;
    }

    @Override
    public @Nullable JsonToken nextToken() throws IOException {
        var token = super.nextToken();
        if (token != null) {
            bytes += size(token);
            if (bytes > maxBytes) {
                throw new StreamConstraintsException(
                        "it would take more than %d MiB of memory".formatted(maxBytes / MEBIBYTE), currentLocation());
            }
        }
        return token;
    }

    private static int size(JsonToken token) {
        return switch (token) {
            case START_OBJECT -> OBJECT;
            case START_ARRAY -> ARRAY;
            case VALUE_STRING -> STRING;
            case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> NUMBER;
            default -> 0;
        };
    }
}

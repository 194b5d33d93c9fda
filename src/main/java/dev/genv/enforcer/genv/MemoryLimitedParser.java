package dev.genv.enforcer.genv;

import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.core.util.JsonParserDelegate;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Estimates the heap that the values of JSON take, from its tokens, and fails above a limit. */
public abstract class MemoryLimitedParser extends JsonParserDelegate {
    private static final int MEBIBYTE = 1 << 20;

    static final class LimitException extends StreamConstraintsException {
        private static final long serialVersionUID = 1L;

        private LimitException(String message, JsonLocation location) {
            super(message, location);
        }
    }

    private final long maxBytes;
    private long bytes;

    public MemoryLimitedParser(JsonParser parser, long maxBytes) {
        super(parser);
        this.maxBytes = maxBytes;
    }

    /** Returns the estimated heap of the present token's value, in bytes. */
    protected abstract long size(JsonToken token) throws IOException;

    /**
     * {@inheritDoc}
     *
     * @throws LimitException if the values take more than the limit
     */
    @Override
    public @Nullable JsonToken nextToken() throws IOException {
        var token = super.nextToken();
        if (token != null) {
            bytes += size(token);
            if (bytes > maxBytes) {
                throw new LimitException(
                        "it would take more than %d MiB of memory".formatted(maxBytes / MEBIBYTE), currentLocation());
            }
        }
        return token;
    }
}

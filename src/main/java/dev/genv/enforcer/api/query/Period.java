package dev.genv.enforcer.api.query;

import dev.genv.enforcer.api.security.ApiException;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** The period that a request asks for; both ends belong to it. */
public record Period(Instant from, Instant to) {
    /** Before it is nothing. The bounds keep sums of instants from an overflow. */
    private static final Instant EARLIEST = Instant.EPOCH;

    private static final Instant LATEST = Instant.parse("9999-12-31T23:59:59Z");

    /** Refuses a period that ends before it begins. */
    public Period {
        if (from.isAfter(to)) {
            throw new ApiException(400, "the period ends at %s, before it begins at %s".formatted(to, from));
        }
    }

    /** Parses the first instant of a query, or the begin of a day; returns the default if the parameter is absent. */
    public static Instant begin(String parameter, @Nullable String value, Instant byDefault) {
        return value == null ? byDefault : instant(parameter, value, false);
    }

    /** Parses the last instant of a query, or the end of a day; returns the default if the parameter is absent. */
    public static Instant end(String parameter, @Nullable String value, Instant byDefault) {
        return value == null ? byDefault : instant(parameter, value, true);
    }

    private static Instant instant(String parameter, String value, boolean isEnd) {
        var instant = QueryParameters.instant(parameter, value, isEnd);
        if (instant.isBefore(EARLIEST) || instant.isAfter(LATEST)) {
            throw QueryParameters.unreadableInstant(parameter, value);
        }
        return instant;
    }
}

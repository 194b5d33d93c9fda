package dev.genv.enforcer.api.query;

import dev.genv.enforcer.api.security.ApiException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The parameters of a query, each of them at most once. */
public record QueryParameters(Map<String, List<String>> values, Set<String> known) {
    /** Before 1970 is nothing. The bounds keep sums of instants from an overflow. */
    private static final Instant LATEST = Instant.parse("9999-12-31T23:59:59Z");

    private static final Pattern DAY = Pattern.compile("\\d{4}-\\d{2}-\\d{2}");

    /** Refuses a repeated parameter, and an unknown name, because a filter with a typing error must not return everything. */
    public QueryParameters {
        for (var parameter : values.entrySet()) {
            if (!known.contains(parameter.getKey())) {
                throw new ApiException(
                        400,
                        "the parameter %s is not known; these are: %s"
                                .formatted(
                                        parameter.getKey(),
                                        known.stream().sorted().collect(Collectors.joining(", "))));
            }
            if (parameter.getValue().size() > 1) {
                throw new ApiException(400, "the parameter %s is there more than once".formatted(parameter.getKey()));
            }
        }
    }

    /** Returns the value of a parameter; null if it is not there. */
    public @Nullable String get(String name) {
        var all = values.get(name);
        return all == null || all.isEmpty() ? null : all.getFirst();
    }

    /** Returns an instant, or the begin of a day in the time zone of the service. */
    public Instant begin(String name, Instant byDefault) {
        return instant(name, byDefault, false);
    }

    /** Returns an instant, or the last millisecond of a day in the time zone of the service. */
    public Instant end(String name, Instant byDefault) {
        return instant(name, byDefault, true);
    }

    private Instant instant(String name, Instant byDefault, boolean isEnd) {
        var value = get(name);
        if (value == null) {
            return byDefault;
        }
        try {
            var instant = DAY.matcher(value).matches()
                    ? LocalDate.parse(value)
                            .plusDays(isEnd ? 1 : 0)
                            .atStartOfDay(ZoneId.systemDefault())
                            .toInstant()
                            .minusMillis(isEnd ? 1 : 0)
                    : DateTimeFormatter.ISO_DATE_TIME.parse(value, Instant::from);
            if (!instant.isBefore(Instant.EPOCH) && !instant.isAfter(LATEST)) {
                return instant;
            }
        } catch (DateTimeParseException e) {
            // The error is the same as for an instant out of bounds.
        }
        throw unreadable(name, value, "a day such as 2026-11-20, or an instant such as 2026-11-20T09:22:28Z");
    }

    /** The period that a request asks for; both ends belong to it. */
    public record Period(Instant from, Instant to) {
        /** Refuses a period that ends before it begins. */
        public Period {
            if (from.isAfter(to)) {
                throw new ApiException(400, "the period ends at %s, before it begins at %s".formatted(to, from));
            }
        }
    }

    /** An error for a value that cannot be read. */
    public static ApiException unreadable(String parameter, String value, String expected) {
        return new ApiException(400, "the parameter %s is \"%s\"; it can be %s".formatted(parameter, value, expected));
    }
}

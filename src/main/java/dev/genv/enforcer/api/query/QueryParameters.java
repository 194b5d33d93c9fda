package dev.genv.enforcer.api.query;

import dev.genv.enforcer.api.security.ApiException;
import java.time.DayOfWeek;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.time.temporal.TemporalAdjusters;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The parameters of a query, each of them at most once. */
public record QueryParameters(Map<String, List<String>> values, Set<String> known) {
    /** Before 1970 is nothing. The bounds keep sums of instants from an overflow. */
    private static final Instant LATEST = Instant.parse("9999-12-31T23:59:59Z");

    private static final Pattern DAYS = Pattern.compile("\\d{4}-\\d{2}-\\d{2}|[a-z-]+");

    /** Refuses a repeated parameter, and an unknown name, because a filter with a typing error must not return everything. */
    public QueryParameters {
        for (var parameter : values.entrySet()) {
            if (!known.contains(parameter.getKey())) {
                throw new ApiException(
                        400,
                        "the parameter %s is not known; %s"
                                .formatted(
                                        parameter.getKey(),
                                        known.isEmpty()
                                                ? "this path has none"
                                                : "these are: " + String.join(", ", new TreeSet<>(known))));
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

    /** Returns an instant, or the begin of days in the time zone of the service. */
    public Instant begin(String name, Instant byDefault) {
        return instant(name, byDefault, false);
    }

    /** Returns an instant, or the last millisecond of days in the time zone of the service. */
    public Instant end(String name, Instant byDefault) {
        return instant(name, byDefault, true);
    }

    private Instant instant(String name, Instant byDefault, boolean isEnd) {
        var value = get(name);
        if (value == null) {
            return byDefault;
        }
        try {
            var instant = DAYS.matcher(value).matches()
                    ? instant(value, ZoneId.systemDefault(), isEnd)
                    : DateTimeFormatter.ISO_DATE_TIME.parse(value, Instant::from);
            if (!instant.isBefore(Instant.EPOCH) && !instant.isAfter(LATEST)) {
                return instant;
            }
        } catch (DateTimeParseException e) {
            // The error is the same as for an instant out of bounds.
        }
        throw unreadable(
                name,
                value,
                "a day such as 2026-11-20, today, yesterday, this-week, last-week, this-month, or an instant such as"
                        + " 2026-11-20T09:22:28Z");
    }

    private static Instant instant(String days, ZoneId zone, boolean isEnd) {
        var its = Days.parse(days, LocalDate.now(zone));
        return isEnd
                ? its.last.plusDays(1).atStartOfDay(zone).toInstant().minusMillis(1)
                : its.first.atStartOfDay(zone).toInstant();
    }

    /** The first and the last day of a day, a week or a month. */
    record Days(LocalDate first, LocalDate last) {
        /** Reads a date, or a word that depends on the present date. */
        static Days parse(String text, LocalDate today) {
            var monday = today.with(TemporalAdjusters.previousOrSame(DayOfWeek.MONDAY));
            return switch (text) {
                case "today" -> new Days(today, today);
                case "yesterday" -> new Days(today.minusDays(1), today.minusDays(1));
                case "this-week" -> new Days(monday, monday.plusDays(6));
                case "last-week" -> new Days(monday.minusDays(7), monday.minusDays(1));
                case "this-month" -> new Days(today.withDayOfMonth(1), today.with(TemporalAdjusters.lastDayOfMonth()));
                default -> new Days(LocalDate.parse(text), LocalDate.parse(text));
            };
        }
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

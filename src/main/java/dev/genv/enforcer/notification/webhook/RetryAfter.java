package dev.genv.enforcer.notification.webhook;

import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The header {@code Retry-After} (RFC 9110, 10.2.3): seconds, or a date. */
final class RetryAfter {
    private static final Pattern SECONDS = Pattern.compile("[0-9]{1,9}");

    private RetryAfter() {}

    /**
     * Returns the time to wait; empty if the header is missing or invalid.
     *
     * @param longest the result is never longer
     */
    static Optional<Duration> parse(@Nullable String value, Instant now, Duration longest) {
        return Optional.ofNullable(value)
                .map(String::strip)
                .flatMap(text -> SECONDS.matcher(text).matches()
                        ? Optional.of(Duration.ofSeconds(Long.parseLong(text)))
                        : date(text).map(at -> Duration.between(now, at)))
                .map(wait -> wait.isNegative() ? Duration.ZERO : wait)
                .map(wait -> wait.compareTo(longest) > 0 ? longest : wait);
    }

    private static Optional<Instant> date(String text) {
        try {
            return Optional.of(ZonedDateTime.parse(text, DateTimeFormatter.RFC_1123_DATE_TIME)
                    .toInstant());
        } catch (DateTimeParseException e) {
            return Optional.empty();
        }
    }
}

package dev.genv.enforcer.config.settings.converters;

import java.time.Duration;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Durations of up to 24 hours: a whole number with {@code ms}, {@code s}, {@code m} or {@code h}; without a unit, seconds. */
@SuppressWarnings("serial")
public final class Durations {
    private static final Pattern DURATION = Pattern.compile("([0-9]{1,9})\\s*(ms|s|m|h|)");
    private static final Duration LONGEST = Duration.ofDays(1);

    private Durations() {}

    /** Zero, or an interval that a scheduler with one tick a second can keep. */
    public static final class Interval extends SettingConverter<Duration> {
        public Interval() {
            super("0 for a single cycle, or a time from 1s to 24h, such as 10s or 2m");
        }

        @Override
        public Duration convert(String value) {
            var interval = read(value);
            if (interval == null || (!interval.isZero() && interval.compareTo(Duration.ofSeconds(1)) < 0)) {
                throw invalid();
            }
            return interval;
        }
    }

    /** A time limit. */
    public static final class Timeout extends AtLeast {
        public Timeout() {
            super(Duration.ofMillis(1), "a time from 1ms to 24h, such as 500ms or 5s");
        }
    }

    /** The delay of an action. */
    public static final class GracePeriod extends AtLeast {
        public GracePeriod() {
            super(Duration.ZERO, "a time from 0s to 24h, such as 30s or 2m");
        }
    }

    /** An age of at least an hour; a number of days with {@code d}, or a duration in hours. */
    public static final class Age extends SettingConverter<Duration> {
        private static final Pattern AGE = Pattern.compile("([0-9]{1,5})\\s*([hd])");
        private static final Duration LONGEST_AGE = Duration.ofDays(3650);

        public Age() {
            super("a time from 1h to 3650d, such as 12h or 90d");
        }

        @Override
        public Duration convert(String value) {
            var match = AGE.matcher(value.toLowerCase(Locale.ROOT));
            if (!match.matches()) {
                throw invalid();
            }
            var number = Long.parseLong(match.group(1));
            var age = match.group(2).equals("d") ? Duration.ofDays(number) : Duration.ofHours(number);
            if (age.isZero() || age.compareTo(LONGEST_AGE) > 0) {
                throw invalid();
            }
            return age;
        }
    }

    /** How long a process must break no rule; with 0s one compliant observation would be enough to escape SIGKILL. */
    public static final class CompliancePeriod extends AtLeast {
        public CompliancePeriod() {
            super(Duration.ofSeconds(1), "a time from 1s to 24h, such as 60s or 10m");
        }
    }

    /** Null for {@code never}. */
    public static final class KillAfter extends SettingConverter<@Nullable Duration> {
        public KillAfter() {
            super("never, or a time from 1s to 24h, such as 30s or 2m");
        }

        @Override
        public @Nullable Duration convert(String value) {
            if (value.equalsIgnoreCase("never")) {
                return null;
            }
            var duration = read(value);
            if (duration == null || duration.compareTo(Duration.ofSeconds(1)) < 0) {
                throw invalid();
            }
            return duration;
        }
    }

    /** A duration with a lower bound. */
    abstract static class AtLeast extends SettingConverter<Duration> {
        private final Duration shortest;

        AtLeast(Duration shortest, String accepted) {
            super(accepted);
            this.shortest = shortest;
        }

        @Override
        public final Duration convert(String value) {
            var duration = read(value);
            if (duration == null || duration.compareTo(shortest) < 0) {
                throw invalid();
            }
            return duration;
        }
    }

    /** Returns null if it is no duration of at most 24 hours. */
    private static @Nullable Duration read(String value) {
        var match = DURATION.matcher(value.toLowerCase(Locale.ROOT));
        if (!match.matches()) {
            return null;
        }
        var number = Long.parseLong(match.group(1));
        var duration = switch (match.group(2)) {
            case "ms" -> Duration.ofMillis(number);
            case "m" -> Duration.ofMinutes(number);
            case "h" -> Duration.ofHours(number);
            default -> Duration.ofSeconds(number);
        };
        return duration.compareTo(LONGEST) > 0 ? null : duration;
    }
}

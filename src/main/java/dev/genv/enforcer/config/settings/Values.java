package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.api.security.AccessFilter.AllowedHosts;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.notification.Addresses;
import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import dev.genv.enforcer.remote.HostAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Converters of what settings hold, by subject: switches and words, numbers, times, texts, lists. Those of files are {@link Paths}. */
@SuppressWarnings("serial")
public final class Values {
    private static final int MAX_DIGITS = 10;
    /** The largest 32-bit number is no uid: the kernel uses it for none. */
    private static final long HIGHEST_UID = 0xFFFF_FFFEL;

    private static final Duration LONGEST = Duration.ofDays(1);
    private static final Duration LONGEST_AGE = Duration.ofDays(3650);
    private static final Duration SECOND = Duration.ofSeconds(1);
    private static final Memory SMALLEST_DATA = Memory.ofMebibytes(4);
    private static final Memory LARGEST_DATA = Memory.ofMebibytes(1L << 20);
    private static final Pattern DURATION = Pattern.compile("([0-9]{1,9})\\s*(ms|s|m|h|)");
    private static final Pattern AGE = Pattern.compile("([0-9]{1,5})\\s*([hd])");
    private static final Pattern USER = Pattern.compile("[^@/:*=]+");

    private Values() {}

    /** A switch. */
    abstract static class Switch extends SettingConverter<Boolean> {
        /** Accepts two regular expressions. What matches both means off. */
        Switch(String accepted, String off, String on) {
            super(accepted, value -> {
                var word = value.toLowerCase(Locale.ROOT);
                return word.matches(off)
                        ? Optional.of(false)
                        : Optional.of(true).filter(_ -> word.matches(on));
            });
        }

        @Override
        public final Boolean convert(String value) {
            return parse(value);
        }
    }

    /** A switch of a safeguard or of an option. */
    public static final class TrueOrFalse extends Switch {
        public TrueOrFalse() {
            super("true or false", "false", "true");
        }
    }

    /** A switch of a function. YAML reads {@code on} and {@code off} without quotes as {@code true} and {@code false}. */
    public static final class OnOrOff extends Switch {
        public OnOrOff() {
            super("on or off", "off|false", "on|true");
        }
    }

    /** A switch of genv: every number except 0 means yes. */
    public static final class GenvSwitch extends Switch {
        public GenvSwitch() {
            super("0 or 1", "[+-]?0{1,9}", "[+-]?[0-9]{1,9}");
        }
    }

    /** A whole number. */
    abstract static class Whole extends SettingConverter<Integer> {
        /** Accepts what matches an expression, which allows at most nine digits. */
        Whole(String accepted, String digits, int highest) {
            super(
                    accepted,
                    value -> Optional.of(value)
                            .filter(text -> text.matches(digits))
                            .map(Integer::valueOf)
                            .filter(number -> number <= highest));
        }

        @Override
        public final Integer convert(String value) {
            return parse(value);
        }
    }

    /** A limit of devices or processes. */
    public static final class Limit extends Whole {
        public Limit() {
            super("a whole number from 0", "[0-9]{1,9}", Integer.MAX_VALUE);
        }
    }

    /** A number of messages in an hour. */
    public static final class PerHour extends Whole {
        public PerHour() {
            super("a whole number from 1 to 60", "[1-9][0-9]?", 60);
        }
    }

    /** A TCP port; 0 is any that is free. */
    public static final class Port extends Whole {
        public Port() {
            super("a port, 0 to 65535", "[0-9]{1,5}", 65_535);
        }
    }

    /** An amount of memory. */
    abstract static class Size extends SettingConverter<Memory> {
        Size(String accepted, Predicate<Memory> isValid) {
            super(accepted, value -> Memory.parse(value).filter(isValid));
        }

        @Override
        public final Memory convert(String value) {
            return parse(value);
        }
    }

    /** An amount of memory, as genv writes it. */
    public static final class OfMemory extends Size {
        public OfMemory() {
            super("an amount of memory such as 512mi or 4g", _ -> true);
        }
    }

    /** The size of the database. Each kind of data has a share of it, so it is not too small. */
    public static final class DataSize extends Size {
        public DataSize() {
            super(
                    "a size from 4MiB to 1024GiB, such as 256MiB or 2GiB",
                    size -> size.compareTo(SMALLEST_DATA) >= 0 && size.compareTo(LARGEST_DATA) <= 0);
        }
    }

    /** A time. */
    abstract static class Time extends SettingConverter<Duration> {
        Time(String accepted, Function<String, Optional<Duration>> parser) {
            super(accepted, parser);
        }

        @Override
        public @Nullable Duration convert(String value) {
            return parse(value);
        }
    }

    /** Reads a whole number with {@code ms}, {@code s}, {@code m} or {@code h}; without a unit, seconds. */
    private static Optional<Duration> duration(String value, Duration shortest) {
        var match = DURATION.matcher(value.toLowerCase(Locale.ROOT));
        if (!match.matches()) {
            return Optional.empty();
        }
        var number = Long.parseLong(match.group(1));
        var duration = switch (match.group(2)) {
            case "ms" -> Duration.ofMillis(number);
            case "m" -> Duration.ofMinutes(number);
            case "h" -> Duration.ofHours(number);
            default -> Duration.ofSeconds(number);
        };
        return duration.compareTo(shortest) < 0 || duration.compareTo(LONGEST) > 0
                ? Optional.empty()
                : Optional.of(duration);
    }

    /** Zero, or an interval that a scheduler with one tick a second can keep. */
    public static final class Interval extends Time {
        public Interval() {
            super(
                    "0 for a single cycle, or a time from 1s to 24h, such as 10s or 2m",
                    value -> duration(value, Duration.ZERO)
                            .filter(interval -> interval.isZero() || interval.compareTo(SECOND) >= 0));
        }
    }

    /** A time limit. */
    public static final class Timeout extends Time {
        public Timeout() {
            super("a time from 1ms to 24h, such as 500ms or 5s", value -> duration(value, Duration.ofMillis(1)));
        }
    }

    /** The delay of an action. */
    public static final class GracePeriod extends Time {
        public GracePeriod() {
            super("a time from 0s to 24h, such as 30s or 2m", value -> duration(value, Duration.ZERO));
        }
    }

    /** How long a process must break no rule; with 0s one compliant observation would be enough to escape SIGKILL. */
    public static final class CompliancePeriod extends Time {
        public CompliancePeriod() {
            super("a time from 1s to 24h, such as 60s or 10m", value -> duration(value, SECOND));
        }
    }

    /** Null for {@code never}. */
    public static final class KillAfter extends Time {
        public KillAfter() {
            super("never, or a time from 1s to 24h, such as 30s or 2m", value -> duration(value, SECOND));
        }

        @Override
        public @Nullable Duration convert(String value) {
            return value.equalsIgnoreCase("never") ? null : super.convert(value);
        }
    }

    /** An age of at least an hour; a number of days with {@code d}, or a duration in hours. */
    public static final class Age extends Time {
        public Age() {
            super("a time from 1h to 3650d, such as 12h or 90d", Age::inHoursOrDays);
        }

        private static Optional<Duration> inHoursOrDays(String value) {
            return Optional.of(AGE.matcher(value.toLowerCase(Locale.ROOT)))
                    .filter(Matcher::matches)
                    .map(match -> Duration.of(
                            Long.parseLong(match.group(1)),
                            match.group(2).equals("d") ? ChronoUnit.DAYS : ChronoUnit.HOURS))
                    .filter(age -> !age.isZero() && age.compareTo(LONGEST_AGE) <= 0);
        }
    }

    /** A text that is taken as it is. */
    abstract static class Text extends SettingConverter<String> {
        Text(String accepted, Predicate<String> isValid) {
            super(accepted, value -> Optional.of(value).filter(isValid));
        }

        @Override
        public final String convert(String value) {
            return parse(value);
        }
    }

    /** The name or the address of a server. */
    public static final class ServerName extends Text {
        public ServerName() {
            super(
                    "the name or the address of a host, such as mail.example.org",
                    value -> value.matches("[A-Za-z0-9._:-]{1,253}"));
        }
    }

    /** The user of a login at a mail server. */
    public static final class MailLogin extends Text {
        public MailLogin() {
            super("ASCII characters without blanks", value -> value.matches("[!-~]{1,320}"));
        }
    }

    /** A plain mail address. */
    public static final class AddressOfMail extends Text {
        public AddressOfMail() {
            super("a mail address, such as gpu-admin@example.org", Addresses::isAddress);
        }
    }

    /** The mail addresses of all users. */
    public static final class AddressTemplate extends Text {
        public AddressTemplate() {
            super(
                    "a mail address with {user} for the name, such as {user}@example.org",
                    value -> value.contains(Addresses.USER)
                            && Addresses.isAddress(value.replace(Addresses.USER, "user")));
        }
    }

    /** The name of a login user. It does not begin with a dash, because people copy it into commands. */
    public static final class LoginName extends Text {
        public LoginName() {
            super("the name of a user, such as raz", value -> value.matches("[^\\s@:/-][^\\s@:/]*"));
        }
    }

    /** The address of a receiver. */
    public static final class WebAddress extends SettingConverter<URI> {
        public WebAddress() {
            super("an address with https or http and a host, such as https://example.org/hook", Values::webAddress);
        }

        @Override
        public URI convert(String value) {
            return parse(value);
        }
    }

    static Optional<URI> webAddress(String value) {
        try {
            var uri = new URI(value);
            var scheme = String.valueOf(uri.getScheme()).toLowerCase(Locale.ROOT);
            return (scheme.equals("https") || scheme.equals("http"))
                            && uri.getHost() != null
                            && uri.getUserInfo() == null
                            && uri.getFragment() == null
                    ? Optional.of(uri)
                    : Optional.empty();
        } catch (URISyntaxException e) { // its message has the value
            return Optional.empty();
        }
    }

    /** Users, by name or uid. SmallRye Config itself would convert each entry of a List or Set, so lists are Collections. */
    public static final class UserNames extends SettingConverter<Collection<String>> {
        public UserNames() {
            super(
                    "names or uids of users, such as alice,1003",
                    value -> Optional.of(entries(value))
                            .filter(users -> users.stream().allMatch(UserNames::isUser)));
        }

        private static boolean isUser(String user) {
            return user.matches("[0-9]+")
                    ? user.length() <= MAX_DIGITS && Long.parseLong(user) <= HIGHEST_UID
                    : USER.matcher(user).matches();
        }
    }

    /** Protected programs. */
    public static final class Programs extends SettingConverter<Collection<ProtectedExecutable>> {
        public Programs() {
            super(
                    "absolute paths, each with @ and a user, with @*, or with neither, such as"
                            + " /opt/bin/server,/opt/bin/worker@alice",
                    value -> Optional.of(entries(value).stream()
                            .map(ProtectedExecutable::parse)
                            .toList()));
        }
    }

    /** Host names of HTTP requests. */
    public static final class HostNames extends SettingConverter<Collection<String>> {
        public HostNames() {
            super(
                    "host names without ports, such as gpu-1.example.org,enforcer",
                    value -> Optional.of(entries(value).stream()
                            .map(AllowedHosts::requireName)
                            .collect(Collectors.toUnmodifiableSet())));
        }
    }

    /** Machines to enforce on, separated by commas only. For an unset value, SmallRye Config passes an empty one. */
    public static final class Machines extends SettingConverter<Collection<HostAddress>> {
        public Machines() {
            super(
                    "[user@]host[:port] for each machine, such as gpu-1,raz@gpu-2:2222,[::1]:22",
                    value -> Optional.of(HostAddress.parseList(value)));
        }

        @Override
        public @Nullable Collection<HostAddress> convert(String value) {
            return value.isEmpty() ? null : parse(value);
        }
    }

    /** Returns the entries of a list, which are separated by commas or blanks. */
    static List<String> entries(String value) {
        return Arrays.stream(value.split("[,\\s]+", -1))
                .filter(entry -> !entry.isEmpty())
                .toList();
    }
}

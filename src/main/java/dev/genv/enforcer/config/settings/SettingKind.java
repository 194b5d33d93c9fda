package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.api.security.AccessFilter.AllowedHosts;
import dev.genv.enforcer.api.security.ApiToken.TokenFile;
import dev.genv.enforcer.config.settings.SettingParser.Reader;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.notification.Addresses;
import dev.genv.enforcer.notification.Addresses.AddressFile;
import dev.genv.enforcer.notification.Notice.NoticeKind;
import dev.genv.enforcer.notification.SecretFile;
import dev.genv.enforcer.observation.ConfiguredUsers;
import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import dev.genv.enforcer.policyfile.PolicyFile;
import dev.genv.enforcer.policyfile.PolicyReader;
import dev.genv.enforcer.remote.HostAddress;
import dev.genv.enforcer.remote.HostFile;
import java.io.IOException;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.ZoneId;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * What the values of a setting are, by subject: switches, numbers, times, texts, lists, files. A file is read at once, so that an
 * unusable one prevents the start. Later changes are checked when they happen.
 */
public enum SettingKind {
    TRUE_OR_FALSE("true or false", value -> toggle(value, "false", "true")),
    /** A switch of a function. YAML reads {@code on} and {@code off} without quotes as {@code true} and {@code false}. */
    ON_OR_OFF("on or off", value -> toggle(value, "off|false", "on|true")),
    /** A switch of genv: every number except 0 means yes. */
    GENV_SWITCH("0 or 1", value -> toggle(value, "[+-]?0{1,9}", "[+-]?[0-9]{1,9}")),

    LIMIT("a whole number from 0", SettingKind::limit),
    PERCENT("a whole number from 0 to 100", value -> number(value, "[0-9]{1,3}", 100)),
    PER_HOUR("a whole number from 1 to 60", value -> number(value, "[1-9][0-9]?", 60)),
    /** A TCP port; 0 is any that is free. */
    PORT("a port, 0 to 65535", value -> number(value, "[0-9]{1,5}", 65_535)),
    MEMORY("an amount of memory such as 512mi or 4g", Memory::parse),
    /** The size of the database. Each kind of data has a share of it, so it is not too small. */
    DATA_SIZE("a size from 4MiB to 1024GiB, such as 256MiB or 2GiB", SettingKind::dataSize),

    /** Zero, or an interval in which a cycle can end. */
    INTERVAL(
            "0 for a single cycle, or a time from 1s to 24h, such as 10s or 2m",
            value -> time(value, Duration.ZERO)
                    .filter(interval -> interval.isZero() || interval.compareTo(Duration.ofSeconds(1)) >= 0)),
    TIMEOUT("a time from 1ms to 24h, such as 500ms or 5s", value -> time(value, Duration.ofMillis(1))),
    GRACE_PERIOD("a time from 0s to 24h, such as 30s or 2m", value -> time(value, Duration.ZERO)),
    /** How long a process must break no rule; with 0s one compliant observation would be enough to escape SIGKILL. */
    COMPLIANCE_PERIOD("a time from 1s to 24h, such as 60s or 10m", value -> time(value, Duration.ofSeconds(1))),
    /** {@code never} is zero. */
    KILL_AFTER(
            "never, or a time from 1s to 24h, such as 30s or 2m",
            value -> value.equalsIgnoreCase("never") ? Optional.of(Duration.ZERO) : time(value, Duration.ofSeconds(1))),
    IDLE_TIME("a time from 1s to 3650d, such as 4h or 2d", value -> age(value, Duration.ofSeconds(1))),
    AGE("a time from 1h to 3650d, such as 12h or 90d", value -> age(value, Duration.ofHours(1))),

    SERVER_NAME(
            "the name or the address of a host, such as mail.example.org",
            value -> text(value, name -> name.matches("[A-Za-z0-9._:-]{1,253}"))),
    MAIL_LOGIN("ASCII characters without blanks", value -> text(value, user -> user.matches("[!-~]{1,320}"))),
    MAIL_ADDRESS("a mail address, such as gpu-admin@example.org", value -> text(value, Addresses::isAddress)),
    ADDRESS_TEMPLATE(
            "a mail address with {user} for the name, such as {user}@example.org",
            value -> text(
                    value,
                    template -> template.contains(Addresses.USER)
                            && Addresses.isAddress(template.replace(Addresses.USER, "user")))),
    /** The name of a login user. It does not begin with a dash, because people copy it into commands. */
    LOGIN_NAME("the name of a user, such as raz", value -> text(value, name -> name.matches("[^\\s@:/-][^\\s:/]*"))),
    WEB_ADDRESS("an address with https or http and a host, such as https://example.org/hook", SettingKind::webAddress),

    NOTICES(
            "opened, warned, acted or resolved, such as acted,resolved",
            value -> notices(entries(value.toLowerCase(Locale.ROOT)))),

    USER_NAMES(
            "names or uids of users, such as alice,+1003",
            value -> Optional.of(entries(value)).filter(users -> users.stream().allMatch(ConfiguredUsers::isUser))),
    PROGRAMS(
            "absolute paths, each with @ and a user, with @*, or with neither, such as"
                    + " /opt/bin/server,/opt/bin/worker@alice",
            value -> Optional.of(
                    entries(value).stream().map(ProtectedExecutable::parse).toList())),
    CGROUPS(
            "absolute paths of cgroups below the root, such as /kubepods.slice,/system.slice/slurmstepd.scope",
            value -> Optional.of(entries(value)).filter(paths -> paths.stream().allMatch(PolicyReader::isCgroup))),
    HOST_NAMES(
            "host names without ports, such as gpu-1.example.org,enforcer",
            value -> Optional.of(entries(value)).filter(names -> names.stream().allMatch(AllowedHosts::isName))),
    /** Machines to enforce on, separated by commas only. */
    MACHINES(
            "[user@]host[:port] for each machine, such as gpu-1,raz@gpu-2:2222,[::1]:22",
            value -> Optional.of(HostAddress.parseList(value))),

    ABSOLUTE_PATH("an absolute path", value -> Optional.of(absolute(value))),
    READABLE_FILE(
            "a file that can be read",
            value -> Optional.of(absolute(value)).filter(Files::isRegularFile).filter(Files::isReadable)),
    /** A file that lists hosts now. The message for an invalid one names the lines. */
    FILE_OF_HOSTS("a file with one host a line", value -> file(value, HostFile::new)),
    FILE_OF_TOKEN(TokenFile.FORM, value -> file(value, path -> new TokenFile(path).read())),
    FILE_OF_ADDRESSES(
            "a file with name=address on each line", value -> file(value, path -> new AddressFile(path).read())),
    FILE_OF_WEB_ADDRESS(
            "a file with an address with https or http and a host",
            value -> webAddress(new SecretFile(absolute(value)).read())),
    FILE_OF_POLICY(
            "a policy file", value -> file(value, path -> new PolicyFile(path, ZoneId.systemDefault()).current())),
    FILE_OF_SECRET("a file with a secret on one line", value -> file(value, path -> new SecretFile(path).read()));

    private static final Memory SMALLEST_DATA = Memory.ofMebibytes(4);
    private static final Memory LARGEST_DATA = Memory.ofMebibytes(1L << 20);
    private static final Duration LONGEST = Duration.ofDays(1);
    private static final Duration LONGEST_AGE = Duration.ofDays(3650);
    private static final Pattern DURATION = Pattern.compile("([0-9]{1,9})\\s*(ms|s|m|h|d|)");

    @SuppressWarnings("ImmutableEnumChecker") // it has no state
    private final SettingParser<?> parser;

    SettingKind(String accepted, Reader<?> reader) {
        parser = new SettingParser<>(accepted, reader);
    }

    SettingParser<?> parser() {
        return parser;
    }

    /** Reads a limit of devices or processes. */
    static SettingParser<Integer> limit() {
        return new SettingParser<>(LIMIT.parser.accepted(), SettingKind::limit);
    }

    private static Optional<Integer> limit(String value) {
        return number(value, "[0-9]{1,9}", Integer.MAX_VALUE);
    }

    /**
     * The kind of a setting in a mapping. Without it a switch takes true or false, an enum each of its constants, and another type every
     * value.
     */
    @Target(ElementType.METHOD)
    @Retention(RetentionPolicy.RUNTIME)
    public @interface Accepts {
        SettingKind value();
    }

    /** What matches both regular expressions means off. */
    private static Optional<Boolean> toggle(String value, String off, String on) {
        var word = value.toLowerCase(Locale.ROOT);
        return word.matches(off) ? Optional.of(false) : Optional.of(true).filter(_ -> word.matches(on));
    }

    private static Optional<Integer> number(String value, String digits, int highest) {
        return text(value, text -> text.matches(digits)).map(Integer::valueOf).filter(number -> number <= highest);
    }

    private static Optional<Memory> dataSize(String value) {
        return Memory.parse(value)
                .filter(size -> size.compareTo(SMALLEST_DATA) >= 0 && size.compareTo(LARGEST_DATA) <= 0);
    }

    private static Optional<Duration> time(String value, Duration shortest) {
        return time(value, shortest, LONGEST);
    }

    private static Optional<Duration> age(String value, Duration shortest) {
        return time(value, shortest, LONGEST_AGE);
    }

    private static Optional<Duration> time(String value, Duration shortest, Duration longest) {
        return duration(value).filter(time -> time.compareTo(shortest) >= 0 && time.compareTo(longest) <= 0);
    }

    /** Reads a whole number with {@code ms}, {@code s}, {@code m}, {@code h} or {@code d}; without a unit, seconds. */
    static Optional<Duration> duration(String value) {
        var match = DURATION.matcher(value.toLowerCase(Locale.ROOT));
        if (!match.matches()) {
            return Optional.empty();
        }
        var number = Long.parseLong(match.group(1));
        return Optional.of(
                switch (match.group(2)) {
                    case "ms" -> Duration.ofMillis(number);
                    case "m" -> Duration.ofMinutes(number);
                    case "h" -> Duration.ofHours(number);
                    case "d" -> Duration.ofDays(number);
                    default -> Duration.ofSeconds(number);
                });
    }

    private static Optional<String> text(String value, Predicate<String> isValid) {
        return Optional.of(value).filter(isValid);
    }

    private static Optional<List<NoticeKind>> notices(List<String> words) {
        var kinds = Stream.of(NoticeKind.values())
                .filter(kind -> words.contains(kind.label()))
                .toList();
        return Optional.of(kinds)
                .filter(_ ->
                        !kinds.isEmpty() && kinds.size() == Set.copyOf(words).size());
    }

    private static Optional<URI> webAddress(String value) {
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

    private static Path absolute(String value) {
        try {
            var path = Path.of(value);
            if (path.isAbsolute()) {
                return path.normalize();
            }
        } catch (InvalidPathException e) { // its message has the value
        }
        throw new IllegalArgumentException("expected " + ABSOLUTE_PATH.parser.accepted());
    }

    /** Reads a file, to find out whether it can be used. */
    private interface Trial {
        Object read(Path file) throws IOException;
    }

    private static Optional<Path> file(String value, Trial trial) throws IOException {
        var file = absolute(value);
        var _ = trial.read(file);
        return Optional.of(file);
    }

    /** Returns the entries of a list, which are separated by commas or blanks. */
    public static List<String> entries(String value) {
        return Arrays.stream(value.split("[,\\s]+", -1))
                .filter(entry -> !entry.isEmpty())
                .toList();
    }
}

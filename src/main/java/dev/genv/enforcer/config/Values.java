package dev.genv.enforcer.config;

import dev.genv.enforcer.api.AllowedHosts;
import dev.genv.enforcer.api.TokenFile;
import dev.genv.enforcer.enforcement.ServiceMode;
import dev.genv.enforcer.observation.ProtectedExecutable;
import dev.genv.enforcer.policy.RuleMode;
import dev.genv.enforcer.remote.HostFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Reads the values of settings. Each complaint, an IllegalArgumentException, says what would be right. */
final class Values {
    private static final Pattern DURATION = Pattern.compile("([0-9]{1,9})\\s*(ms|s|m|h|)");
    private static final int HIGHEST_PORT = 65_535;
    private static final Pattern USER = Pattern.compile("[^@/:*=]+");
    private static final Pattern SSH_USER = Pattern.compile("[^\\s@:/-][^\\s@:/]*");
    /** The last number of 32 bits is no uid: it stands for none. */
    private static final long HIGHEST_UID = 0xFFFF_FFFEL;

    private static final Duration LONGEST = Duration.ofDays(1);

    private Values() {}

    /** Zero, or what a scheduler that ticks once a second can keep. */
    static Duration interval(String value) {
        var expected = "expected 0 for a single cycle, or a time from 1s to 24h, such as 10s or 2m";
        var interval = duration(value, Duration.ZERO, expected);
        if (!interval.isZero() && interval.compareTo(Duration.ofSeconds(1)) < 0) {
            throw new IllegalArgumentException(expected);
        }
        return interval;
    }

    static Duration timeout(String value) {
        return duration(value, Duration.ofMillis(1), "expected a time from 1ms to 24h, such as 500ms or 5s");
    }

    /** How long to wait before anything is done. */
    static Duration grace(String value) {
        return duration(value, Duration.ZERO, "expected a time from 0s to 24h, such as 30s or 2m");
    }

    /** How long a process must break no rule; with 0s one compliant observation would be enough to escape SIGKILL. */
    static Duration compliancePeriod(String value) {
        return duration(value, Duration.ofSeconds(1), "expected a time from 1s to 24h, such as 60s or 10m");
    }

    /** A single cycle that waits would do nothing at all. */
    static Duration graceOfASingleCycle(String value) {
        var grace = grace(value);
        if (!grace.isZero()) {
            throw new IllegalArgumentException(
                    "expected 0s with GENV_ENFORCER_INTERVAL=0, for a single cycle has nothing to wait for");
        }
        return grace;
    }

    /** Nothing for never. */
    static Optional<Duration> killAfter(String value) {
        return value.equalsIgnoreCase("never")
                ? Optional.empty()
                : Optional.of(duration(
                        value, Duration.ofSeconds(1), "expected never, or a time from 1s to 24h, such as 30s or 2m"));
    }

    static ServiceMode mode(String value) {
        return switch (value.toLowerCase(Locale.ROOT)) {
            case "enforce" -> ServiceMode.ENFORCE;
            case "audit" -> ServiceMode.AUDIT;
            default -> throw new IllegalArgumentException("expected enforce or audit");
        };
    }

    /** Also in the yes and no of genv's flags. */
    static RuleMode ruleMode(String value) {
        return switch (value.toLowerCase(Locale.ROOT)) {
            case "off", "false" -> RuleMode.OFF;
            case "audit" -> RuleMode.AUDIT;
            case "enforce", "true" -> RuleMode.ENFORCE;
            default -> throw new IllegalArgumentException("expected off, audit or enforce");
        };
    }

    static Settings.GpuSource gpuSource(String value) {
        return switch (value.toLowerCase(Locale.ROOT)) {
            case "auto" -> Settings.GpuSource.AUTO;
            case "nvidia-smi" -> Settings.GpuSource.NVIDIA_SMI;
            default -> throw new IllegalArgumentException("expected auto or nvidia-smi");
        };
    }

    static boolean yesOrNo(String value) {
        return switch (value.toLowerCase(Locale.ROOT)) {
            case "true" -> true;
            case "false" -> false;
            default -> throw new IllegalArgumentException("expected true or false");
        };
    }

    /** A number, of which 0 means no. */
    static boolean genvSwitch(String value) {
        if (!value.matches("[+-]?[0-9]{1,9}")) {
            throw new IllegalArgumentException("expected 0 or 1");
        }
        return Integer.parseInt(value) != 0;
    }

    static int limit(String value) {
        if (!value.matches("[0-9]{1,9}")) {
            throw new IllegalArgumentException("expected a whole number from 0");
        }
        return Integer.parseInt(value);
    }

    /** {@code john=3,paul=2}, with commas or blanks between them. */
    static Map<String, Integer> userLimits(String value) {
        var limits = new LinkedHashMap<String, Integer>();
        for (var entry : list(value).toList()) {
            var equals = entry.lastIndexOf('=');
            if (equals < 1 || limits.put(entry.substring(0, equals), limit(entry.substring(equals + 1))) != null) {
                throw new IllegalArgumentException(
                        "expected users with a limit each, each once, such as john=3,paul=2");
            }
        }
        return limits;
    }

    /** {@code /opt/bin/server,/opt/bin/worker@alice}, with commas or blanks between them. */
    static List<ProtectedExecutable> protectedExecutables(String value) {
        return list(value).map(ProtectedExecutable::parse).toList();
    }

    /** Names or uids, with commas or blanks between them. */
    static List<String> users(String value) {
        return list(value).map(Values::user).toList();
    }

    private static String user(String value) {
        var isNumber = value.matches("[0-9]+");
        if (!USER.matcher(value).matches()
                || (isNumber && (value.length() > 10 || Long.parseLong(value) > HIGHEST_UID))) {
            throw new IllegalArgumentException("expected names or uids of users, such as alice,1003");
        }
        return value;
    }

    private static Stream<String> list(String value) {
        return Arrays.stream(value.split("[,\\s]+", -1)).filter(entry -> !entry.isEmpty());
    }

    static Set<String> hostNames(String value) {
        return list(value).map(AllowedHosts::requireName).collect(Collectors.toSet());
    }

    static Path absolutePath(String value) {
        try {
            var path = Path.of(value);
            if (path.isAbsolute()) {
                return path.normalize();
            }
        } catch (InvalidPathException e) {
            // The same complaint fits.
        }
        throw new IllegalArgumentException("expected an absolute path");
    }

    /** A TCP port; 0 is any that is free. */
    static int port(String value) {
        if (!value.matches("[0-9]{1,5}") || Integer.parseInt(value) > HIGHEST_PORT) {
            throw new IllegalArgumentException("expected a port, 0 to 65535");
        }
        return Integer.parseInt(value);
    }

    /** A file that can be read now. */
    static Path readableFile(String value) {
        var path = absolutePath(value);
        if (!Files.isRegularFile(path) || !Files.isReadable(path)) {
            throw new IllegalArgumentException("expected a file that can be read");
        }
        return path;
    }

    /** A list of hosts that can be read and understood now; what it says later is looked at then. */
    static Path hostFile(String value) {
        var path = absolutePath(value);
        new HostFile(path); // says what is wrong with it
        return path;
    }

    static String sshUser(String value) {
        if (!SSH_USER.matcher(value).matches()) {
            throw new IllegalArgumentException("expected the name of a user, such as raz");
        }
        return value;
    }

    static RemoteSettings.Protocol agent(String value) {
        return switch (value.toLowerCase(Locale.ROOT)) {
            case "shell" -> RemoteSettings.Protocol.SHELL;
            case "genv" -> RemoteSettings.Protocol.GENV;
            default -> throw new IllegalArgumentException("expected shell or genv");
        };
    }

    /** A file whose content is a token now; what it says later is looked at then. */
    static Path tokenFile(String value) {
        var path = absolutePath(value);
        try {
            new TokenFile(path).read();
            return path;
        } catch (IOException e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        }
    }

    private static Duration duration(String value, Duration shortest, String expected) {
        var match = DURATION.matcher(value.toLowerCase(Locale.ROOT));
        if (!match.matches()) {
            throw new IllegalArgumentException(expected);
        }
        var number = Long.parseLong(match.group(1));
        var duration = switch (match.group(2)) {
            case "ms" -> Duration.ofMillis(number);
            case "m" -> Duration.ofMinutes(number);
            case "h" -> Duration.ofHours(number);
            default -> Duration.ofSeconds(number);
        };
        if (duration.compareTo(shortest) < 0 || duration.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException(expected);
        }
        return duration;
    }
}

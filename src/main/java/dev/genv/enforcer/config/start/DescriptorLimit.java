package dev.genv.enforcer.config.start;

import dev.genv.enforcer.api.connection.ServerConnections;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Pattern;

/** The limit of open files of the service. */
final class DescriptorLimit {
    /** A single cycle on a node opens 187 files, most of them jars. The rest is for clients and child processes. */
    static final int NEEDED = 256;

    /** The JVM raises the soft limit to the hard limit at its start. */
    private static final Pattern SOFT_LIMIT = Pattern.compile("(?m)^Max open files +([0-9]+) ");

    private static final int PORTS = 2;
    private static final int MIN_CONNECTIONS = 16;

    private DescriptorLimit() {}

    /** Returns how many connections each port may keep, so that cycles never lack descriptors. */
    static int connectionsPerPort() {
        return connectionsPerPort(limits());
    }

    static int connectionsPerPort(String limits) {
        return Math.clamp((softLimit(limits) - NEEDED) / PORTS, MIN_CONNECTIONS, ServerConnections.MAX_CONNECTIONS);
    }

    /** Returns a problem if the limit is too low; empty if it is high enough or unknown. */
    static Optional<String> problem() {
        return problem(limits());
    }

    static Optional<String> problem(String limits) {
        var limit = softLimit(limits);
        return limit < NEEDED
                ? Optional.of(
                        "genv-enforcer cannot start: it may open %d files and needs %d; raise the limit (ulimit -n)"
                                .formatted(limit, NEEDED))
                : Optional.empty();
    }

    /** Returns the soft limit; the largest number if it is unlimited or unknown. */
    private static long softLimit(String limits) {
        var limit = SOFT_LIMIT.matcher(limits);
        return limit.find() ? Long.parseLong(limit.group(1)) : Long.MAX_VALUE;
    }

    /** Returns the limits of this process; empty if they cannot be read. */
    private static String limits() {
        try {
            return Files.readString(Path.of("/proc/self/limits"));
        } catch (IOException e) {
            return "";
        }
    }
}

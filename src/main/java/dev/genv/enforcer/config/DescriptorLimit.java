package dev.genv.enforcer.config;

import dev.genv.enforcer.api.connection.ServerConnections;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Pattern;

/** How many files the service may open at once. */
final class DescriptorLimit {
    /** Measured: a single cycle on a node opens 187, most of them jars. The rest is for clients and for child processes. */
    static final int NEEDED = 256;

    /** The JVM raises the soft limit to the hard one at its start. */
    private static final Pattern SOFT_LIMIT = Pattern.compile("(?m)^Max open files +([0-9]+) ");

    private static final int PORTS = 2;
    private static final int FEWEST_CONNECTIONS = 16;

    private DescriptorLimit() {}

    /** How many connections each port may keep, so that cycles never lack descriptors. */
    static int connectionsPerPort() {
        return connectionsPerPort(limits());
    }

    static int connectionsPerPort(String limits) {
        return Math.clamp((softLimit(limits) - NEEDED) / PORTS, FEWEST_CONNECTIONS, ServerConnections.MOST);
    }

    /** Says that there are too few. Where nothing is known of it, there is nothing to say. */
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

    /** The largest number where the limit is unlimited or not known. */
    private static long softLimit(String limits) {
        var limit = SOFT_LIMIT.matcher(limits);
        return limit.find() ? Long.parseLong(limit.group(1)) : Long.MAX_VALUE;
    }

    /** Empty where they cannot be read. */
    private static String limits() {
        try {
            return Files.readString(Path.of("/proc/self/limits"));
        } catch (IOException e) {
            return "";
        }
    }
}

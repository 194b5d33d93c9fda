package dev.genv.enforcer.remote;

import dev.genv.enforcer.files.WatchedFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A file with a host a line, read again when it has changed and nobody writes to it any longer. A spoilt one leaves the hosts
 * as they were.
 */
public final class HostFile {
    static final int LARGEST = 1 << 20;

    private final Path path;
    private final InstantSource clock;
    private final WatchedFile<List<HostAddress>> file;
    private List<HostAddress> hosts;
    private @Nullable String problem;

    /**
     * Reads it.
     *
     * @throws IllegalArgumentException where that cannot be done, with the reason
     */
    public HostFile(Path path) {
        this(path, InstantSource.system());
    }

    HostFile(Path path, InstantSource clock) {
        this.path = path;
        this.clock = clock;
        this.file = new WatchedFile<>(path, LARGEST, HostFile::parse);
        try {
            this.hosts = file.current();
        } catch (IOException e) {
            throw new IllegalArgumentException(reason(e), e);
        }
    }

    /** The hosts that it names now, or named when it could be read the last time. */
    public synchronized List<HostAddress> current() {
        try {
            file.settled(clock.instant()).ifPresent(this::take);
        } catch (IOException e) {
            problem = unusable(reason(e));
        }
        return hosts;
    }

    /** All hosts at once are given up by taking the file out of the settings, not by emptying it, which happens. */
    private void take(List<HostAddress> now) {
        var lost = now.isEmpty() && !hosts.isEmpty();
        hosts = lost ? hosts : now;
        problem = lost ? unusable("it names no host") : null;
    }

    private String unusable(String why) {
        return path + " cannot be used, and the hosts stay as they were: " + why;
    }

    /** Why {@link #current} last told what once was. */
    public synchronized Optional<String> problem() {
        return Optional.ofNullable(problem);
    }

    private static List<HostAddress> parse(byte[] bytes) throws IOException {
        try {
            return HostList.parseLines(new String(bytes, StandardCharsets.UTF_8));
        } catch (IllegalArgumentException e) {
            throw new IOException(e.getMessage(), e);
        }
    }

    private static String reason(IOException e) {
        return String.valueOf(e.getMessage());
    }
}

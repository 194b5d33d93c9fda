package dev.genv.enforcer.remote;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A file with a host a line, read again when it changes. A spoilt one leaves the hosts as they were. */
public final class HostFile {
    static final int LARGEST = 1 << 20;

    private final Path path;
    private final WatchedFile<List<HostAddress>> file;
    private List<HostAddress> hosts;
    private @Nullable String problem;

    /**
     * Reads it.
     *
     * @throws IllegalArgumentException where that cannot be done, with the reason
     */
    public HostFile(Path path) {
        this.path = path;
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
            hosts = file.current();
            problem = null;
        } catch (IOException e) {
            problem = path + " cannot be used, and the hosts stay as they were: " + reason(e);
        }
        return hosts;
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

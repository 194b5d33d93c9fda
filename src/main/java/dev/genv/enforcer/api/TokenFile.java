package dev.genv.enforcer.api;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The file with the bearer token. What it says may change while we run, as when Kubernetes renews a secret. */
public final class TokenFile {
    private static final int LONGEST = 4096;
    private static final Pattern TOKEN = Pattern.compile("[!-~]+");

    private final Path path;
    private @Nullable State seen;
    private @Nullable String token;

    public TokenFile(Path path) {
        this.path = path;
    }

    /** By which a changed file is known. A renewed secret is a link to another file, and so another key. */
    private record State(@Nullable Object key, FileTime modified, long size) {}

    /**
     * The token as it stands there now; the file is read only if it has changed.
     *
     * @throws IOException where it cannot be read or is no token; the message says what would be right and never what
     *     stands there
     */
    public synchronized String read() throws IOException {
        // Looked at before it is read: what changes meanwhile is another state next time.
        var now = state();
        var known = token;
        if (known == null || !now.equals(seen)) {
            token = null;
            known = parse();
            token = known;
            seen = now;
        }
        return known;
    }

    private State state() throws IOException {
        try {
            var attributes = Files.readAttributes(path, BasicFileAttributes.class);
            if (!attributes.isRegularFile()) {
                throw new IOException("expected a file with a token, and it is not a regular file");
            }
            return new State(attributes.fileKey(), attributes.lastModifiedTime(), attributes.size());
        } catch (FileSystemException e) {
            throw unreadable(e);
        }
    }

    private String parse() throws IOException {
        byte[] bytes;
        try (var stream = Files.newInputStream(path)) {
            bytes = stream.readNBytes(LONGEST + 1);
        } catch (FileSystemException e) {
            throw unreadable(e);
        }
        var text = new String(bytes, StandardCharsets.ISO_8859_1).strip();
        if (bytes.length > LONGEST || !TOKEN.matcher(text).matches()) {
            throw new IOException(
                    "expected a file with one token of at most %d ASCII characters without blanks".formatted(LONGEST));
        }
        return text;
    }

    private static IOException unreadable(FileSystemException e) {
        return new IOException(
                "expected a file with a token, and it cannot be read (%s)"
                        .formatted(e.getClass().getSimpleName()),
                e);
    }
}

package dev.genv.enforcer.api.security;

import dev.genv.enforcer.files.RegularFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The file with the bearer token. Its content may change, for example when Kubernetes renews a secret. */
public final class TokenFile {
    private static final int LONGEST = 4096;
    private static final int WRITABLE_BY_OTHERS = 022;
    private static final int STICKY = 01000;
    private static final Pattern TOKEN = Pattern.compile("[!-~]+");

    private final Path path;
    private RegularFile.@Nullable Status lastStatus;
    private @Nullable String token;

    public TokenFile(Path path) {
        this.path = path;
    }

    /**
     * Returns the present token; the file is read only after a change.
     *
     * @throws IOException if it cannot be read or is no token; the message has the expected form and never the content
     */
    public synchronized String read() throws IOException {
        try (var file = RegularFile.open(path)) {
            var known = token;
            if (known == null || !file.status().equals(lastStatus)) {
                token = null;
                known = parse(file);
                token = known;
                lastStatus = file.status();
            }
            return known;
        } catch (FileSystemException e) {
            throw new IOException(
                    "expected a file with a token, and it cannot be read (%s)"
                            .formatted(e.getClass().getSimpleName()),
                    e);
        }
    }

    private static String parse(RegularFile file) throws IOException {
        if (file.status().size() <= LONGEST) {
            var text = new String(file.read(LONGEST), StandardCharsets.ISO_8859_1).strip();
            if (TOKEN.matcher(text).matches()) {
                return text;
            }
        }
        throw new IOException(
                "expected a file with one token of at most %d ASCII characters without blanks".formatted(LONGEST));
    }

    /**
     * Returns which users besides root and the service's own can change the token.
     *
     * @throws IOException if the file or its directory cannot be examined
     */
    synchronized Optional<String> weakness() throws IOException {
        var real = path.toRealPath();
        var directory = real.getParent();
        if (isOpenToOthers(real, 0)) {
            return Optional.of("users other than root and the service's own user own it or can write to it");
        }
        // In a sticky directory, such as /tmp, only the owner of a file can replace it.
        return directory != null && isOpenToOthers(directory, STICKY)
                ? Optional.of("users other than root and the service's own user can replace it in its directory")
                : Optional.empty();
    }

    private static boolean isOpenToOthers(Path file, int harmlessWith) throws IOException {
        var mode = (int) Files.getAttribute(file, "unix:mode");
        var owner = (int) Files.getAttribute(file, "unix:uid");
        var own = (int) Files.getAttribute(Path.of("/proc/self"), "unix:uid");
        var writable = (mode & WRITABLE_BY_OTHERS) != 0 && (mode & harmlessWith) == 0;
        return writable || (owner != 0 && owner != own);
    }
}

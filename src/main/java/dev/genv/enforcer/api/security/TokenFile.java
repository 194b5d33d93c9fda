package dev.genv.enforcer.api.security;

import dev.genv.enforcer.files.FileTooLargeException;
import dev.genv.enforcer.files.WatchedFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Pattern;

/** The file with the bearer token. Its content may change, for example when Kubernetes renews a secret. */
public final class TokenFile {
    private static final int LONGEST = 4096;
    private static final String NO_TOKEN =
            "expected a file with one token of at most %d ASCII characters without blanks".formatted(LONGEST);
    private static final int WRITABLE_BY_OTHERS = 022;
    private static final int STICKY = 01000;
    private static final Pattern TOKEN = Pattern.compile("[!-~]+");

    private final Path path;
    private final WatchedFile<String> file;

    public TokenFile(Path path) {
        this.path = path;
        this.file = new WatchedFile<>(path, LONGEST, TokenFile::parse);
    }

    /**
     * Returns the present token; the file is read only after a change.
     *
     * @throws IOException if it cannot be read or is no token; the message has the expected form and never the content
     */
    public String read() throws IOException {
        try {
            return file.current();
        } catch (FileTooLargeException e) {
            throw new IOException(NO_TOKEN, e);
        } catch (FileSystemException e) {
            throw new IOException(
                    "expected a file with a token, and it cannot be read (%s)"
                            .formatted(e.getClass().getSimpleName()),
                    e);
        }
    }

    private static String parse(byte[] bytes) throws IOException {
        var text = new String(bytes, StandardCharsets.ISO_8859_1).strip();
        if (TOKEN.matcher(text).matches()) {
            return text;
        }
        throw new IOException(NO_TOKEN);
    }

    /**
     * Returns which users besides root and the service's own can change the token.
     *
     * @throws IOException if the file or its directory cannot be examined
     */
    Optional<String> weakness() throws IOException {
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

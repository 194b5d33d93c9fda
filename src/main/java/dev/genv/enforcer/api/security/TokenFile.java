package dev.genv.enforcer.api.security;

import dev.genv.enforcer.linux.FileTree;
import dev.genv.enforcer.linux.FileTree.Step;
import dev.genv.enforcer.linux.TrustedOwners;
import dev.genv.enforcer.linux.TrustedOwners.UntrustedException;
import dev.genv.enforcer.linux.WatchedFile;
import dev.genv.enforcer.linux.WatchedFile.FileTooLargeException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Pattern;

/** The file with the bearer token. Its content may change, for example when Kubernetes renews a secret. */
public final class TokenFile {
    private static final int LONGEST = 4096;
    private static final String NO_TOKEN =
            "expected a file with one token of at most %d ASCII characters without blanks".formatted(LONGEST);
    private static final FileTree OWN_FILES = new FileTree(Path.of("/"));
    private static final Pattern TOKEN = Pattern.compile("[!-~]+");

    private final Path path;
    private final WatchedFile<String> file;

    public TokenFile(Path path) {
        this.path = path;
        this.file = new WatchedFile<>(path, LONGEST, TokenFile::parse);
    }

    /**
     * Returns the present token; the file is read only after a change. The message of an error has the expected form and never
     * the content.
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

    /** Returns why a user other than root and the service's own can change the token. */
    Optional<String> weakness() throws IOException {
        var owners = TrustedOwners.ofThisService();
        try {
            // In a sticky folder, such as /tmp, users cannot replace the file of another one.
            OWN_FILES.follow(
                    path.toAbsolutePath(),
                    (step, at) -> owners.inspect(step == Step.FOLDER ? Step.FOLDER_ABOVE : step, at));
            return Optional.empty();
        } catch (UntrustedException e) {
            return Optional.of(String.valueOf(e.getMessage()));
        }
    }
}

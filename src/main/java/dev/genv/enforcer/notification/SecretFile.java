package dev.genv.enforcer.notification;

import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.WatchedFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** A file with a password or a key on its first line. Its content may change, for example when Kubernetes renews a secret. */
public final class SecretFile {
    private static final int LARGEST = 4096;

    private final WatchedFile<String> file;

    public SecretFile(Path path) {
        file = new WatchedFile<>(path, LARGEST, SecretFile::parse);
    }

    /** Returns the present secret. The message of an error never has the content. */
    public String read() throws IOException {
        try {
            return file.current();
        } catch (IOException e) {
            throw new IOException("its file cannot be used: " + Errno.textOf(e), e);
        }
    }

    private static String parse(byte[] bytes) throws IOException {
        var secret = new String(bytes, StandardCharsets.UTF_8).strip();
        if (secret.isEmpty() || secret.chars().anyMatch(Character::isISOControl)) {
            throw new IOException("expected one line of at most %d bytes".formatted(LARGEST));
        }
        return secret;
    }
}

package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.api.security.ApiToken.TokenFile;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.notification.Addresses.AddressFile;
import dev.genv.enforcer.notification.SecretFile;
import dev.genv.enforcer.remote.HostFile;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Converters of absolute paths. A file is read at once, so that an unusable one prevents the start. Later changes are checked when
 * they happen.
 */
@SuppressWarnings("serial")
public final class Paths {
    private static final String ABSOLUTE_PATH = "an absolute path";

    private Paths() {}

    /** What an absolute path must fulfil besides. */
    @FunctionalInterface
    interface Check {
        /** Throws for a file that cannot be used now. */
        void check(Path path) throws IOException;
    }

    /** An absolute path that passes a check. */
    abstract static class CheckedPath extends SettingConverter<Path> {
        CheckedPath(String accepted, Check check) {
            super(accepted, value -> {
                var path = absolute(value);
                try {
                    check.check(path);
                } catch (IOException e) {
                    throw unusable(accepted, e);
                }
                return Optional.of(path);
            });
        }

        @Override
        public final Path convert(String value) {
            return parse(value);
        }
    }

    /** A path that need not exist. */
    public static final class AbsolutePath extends CheckedPath {
        public AbsolutePath() {
            super(ABSOLUTE_PATH, _ -> {});
        }
    }

    /** A file that the service can read now. */
    public static final class ReadableFile extends SettingConverter<Path> {
        public ReadableFile() {
            super(
                    "a file that can be read",
                    value -> Optional.of(absolute(value))
                            .filter(Files::isRegularFile)
                            .filter(Files::isReadable));
        }

        @Override
        public Path convert(String value) {
            return parse(value);
        }
    }

    /** A file that lists hosts now. */
    public static final class FileOfHosts extends CheckedPath {
        public FileOfHosts() {
            super("a file with one host a line", HostFile::new); // its message names the invalid lines
        }
    }

    /** A file that contains a token now. */
    public static final class FileOfToken extends CheckedPath {
        public FileOfToken() {
            super("a file with one token of at most 4096 ASCII characters without blanks", FileOfToken::check);
        }

        /** The message of the error says by itself what is expected. */
        private static void check(Path path) {
            try {
                new TokenFile(path).read();
            } catch (IOException e) {
                throw new IllegalArgumentException(e.getMessage(), e);
            }
        }
    }

    /** A file of mail addresses. */
    public static final class FileOfAddresses extends CheckedPath {
        public FileOfAddresses() {
            super("a file with name=address on each line", path -> new AddressFile(path).read());
        }
    }

    /** A file with the address of a receiver. */
    public static final class FileOfAddress extends SettingConverter<URI> {
        private static final String ACCEPTED = "a file with an address with https or http and a host";

        public FileOfAddress() {
            super(ACCEPTED, FileOfAddress::read);
        }

        @Override
        public URI convert(String value) {
            return parse(value);
        }

        private static Optional<URI> read(String value) {
            try {
                return Values.webAddress(new SecretFile(absolute(value)).read());
            } catch (IOException e) {
                throw unusable(ACCEPTED, e);
            }
        }
    }

    /** A file that contains a secret now. */
    public static final class FileOfSecret extends CheckedPath {
        public FileOfSecret() {
            super("a file with a secret on one line", path -> new SecretFile(path).read());
        }
    }

    /** Says why a file cannot be used, without its path, which may be a secret that was set by mistake. */
    private static IllegalArgumentException unusable(String accepted, IOException why) {
        return new IllegalArgumentException("expected %s: %s".formatted(accepted, Errno.textOf(why)), why);
    }

    private static Path absolute(String value) {
        try {
            var path = Path.of(value);
            if (path.isAbsolute()) {
                return path.normalize();
            }
        } catch (InvalidPathException e) { // its message has the value
        }
        throw new IllegalArgumentException("expected " + ABSOLUTE_PATH);
    }
}

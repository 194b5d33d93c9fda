package dev.genv.enforcer.config.settings.converters;

import dev.genv.enforcer.api.security.TokenFile;
import dev.genv.enforcer.remote.HostFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Absolute paths. A file is read at once, so that an unusable one prevents the start. */
@SuppressWarnings("serial")
public final class Paths {
    private static final String ABSOLUTE_PATH = "an absolute path";

    private Paths() {}

    /** A path that need not exist. */
    public static final class AbsolutePath extends SettingConverter<Path> {
        public AbsolutePath() {
            super(ABSOLUTE_PATH);
        }

        @Override
        public Path convert(String value) {
            return absolute(value);
        }
    }

    /** A file that the service can read now. */
    public static final class ReadableFile extends SettingConverter<Path> {
        public ReadableFile() {
            super("a file that can be read");
        }

        @Override
        public Path convert(String value) {
            var path = absolute(value);
            if (!Files.isRegularFile(path) || !Files.isReadable(path)) {
                throw invalid();
            }
            return path;
        }
    }

    /** A file that lists hosts now; later changes are checked when they happen. */
    public static final class FileOfHosts extends SettingConverter<Path> {
        public FileOfHosts() {
            super("a file with one host a line");
        }

        @Override
        public Path convert(String value) {
            var path = absolute(value);
            new HostFile(path); // its message names the invalid lines
            return path;
        }
    }

    /** A file that contains a token now; later changes are checked when they happen. */
    public static final class FileOfToken extends SettingConverter<Path> {
        public FileOfToken() {
            super("a file with one token of at most 4096 ASCII characters without blanks");
        }

        @Override
        public Path convert(String value) {
            var path = absolute(value);
            try {
                new TokenFile(path).read();
                return path;
            } catch (IOException e) {
                throw new IllegalArgumentException(e.getMessage(), e);
            }
        }
    }

    static Path absolute(String value) {
        var path = path(value);
        if (path == null || !path.isAbsolute()) {
            throw new IllegalArgumentException("expected " + ABSOLUTE_PATH);
        }
        return path.normalize();
    }

    private static @Nullable Path path(String value) {
        try {
            return Path.of(value);
        } catch (InvalidPathException e) {
            return null;
        }
    }
}

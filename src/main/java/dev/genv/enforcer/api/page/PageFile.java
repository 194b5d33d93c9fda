package dev.genv.enforcer.api.page;

import dev.genv.enforcer.model.Sha256;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.io.InputStream;
import java.util.HexFormat;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * A file of the page.
 *
 * @param etag the strong validator of HTTP, which changes with the content
 */
record PageFile(String contentType, String etag, Buffer content) {
    private static final String FOLDER = "/META-INF/resources";

    /** The paths of the page's files. No other spelling of a path is accepted, so none can lead to another file. */
    private static final Pattern PATH = Pattern.compile("/(index\\.html|page/([a-z]+/)?[a-z-]+\\.(js|css|svg))?");

    static boolean isPath(String path) {
        return PATH.matcher(path).matches();
    }

    /**
     * Reads a file from the class path; empty if there is none.
     *
     * @param path a path for which {@link #isPath} is true
     * @throws IOException if the package of the service is damaged
     */
    static Optional<PageFile> read(String path) throws IOException {
        var name = path.equals("/") ? "/index.html" : path;
        try (InputStream file = PageFile.class.getResourceAsStream(FOLDER + name)) {
            if (file == null) {
                return Optional.empty();
            }
            var content = file.readAllBytes();
            var etag = "\"" + HexFormat.of().formatHex(Sha256.digest(content), 0, 16) + "\"";
            return Optional.of(new PageFile(contentType(name), etag, Buffer.buffer(content)));
        }
    }

    private static String contentType(String name) {
        return switch (name.substring(name.lastIndexOf('.'))) {
            case ".html" -> "text/html; charset=utf-8";
            case ".css" -> "text/css; charset=utf-8";
            case ".svg" -> "image/svg+xml";
            default -> "text/javascript; charset=utf-8";
        };
    }
}
